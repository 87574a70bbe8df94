"""The generations of the embedded index that this process has open, and the books set aside."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import qdrant_edge as edge

from app.adapters.qdrant.edge_copy import ShardCopy, copy_if_needed
from app.adapters.qdrant.edge_shard import count, load_shard, retrieve, storage_errors
from app.adapters.qdrant.folder import BookFolder, Current
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, IndexUnreadable, StorageError
from app.services.ports import BookManifest, Damage

_log = logging.getLogger(__name__)

_RECHECK_SECONDS = 0.5
"""How often, at most, a search looks whether `current` was switched."""

_SIZES_SECONDS = 5.0
"""How often, at most, the sizes of open files are looked at: the engine maps them into memory, and
reading beyond the end of one that was cut kills the process."""

_RETRY_SECONDS = 30.0
"""How long a damaged generation is left alone, if `current` is not switched before: finding out
reads all of it."""

_REPLACED_SECONDS = 60.0
"""How long a generation stays open after a switch, for questions that began before it."""

_ATTEMPTS = 3

_REMEMBERED = 2_000
"""Chunks of an open book, about 15 MB."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The engine closes the shard when the last search that holds it lets go."""

    folder: BookFolder
    shard: edge.EdgeShard
    manifest: BookManifest
    copy: ShardCopy | None = None
    """Where the shard is, if its own disk cannot be written."""
    _known: dict[str, Chunk] = field(default_factory=dict, compare=False, repr=False)

    @contextmanager
    def errors(self) -> Iterator[edge.EdgeShard]:
        """The shard, for one use; StorageError when the engine fails."""
        with storage_errors(self.folder.generation(self.manifest.generation)):
            yield self.shard

    def wrong_sizes(self) -> list[Path]:
        """The files that are gone now, or shorter or longer."""
        number = self.manifest.generation
        try:
            with storage_errors(self.folder.path):
                wrong = self.folder.wrong_files(number, sizes_only=True)
        except StorageError:
            return []  # what tells is damaged itself: what is mapped is whole
        return [self.folder.generation(number) / name for name in wrong]

    def is_cut(self) -> bool:
        """A removed file stays for those who have it mapped; one that was cut does not."""
        return any(path.exists() for path in self.wrong_sizes())

    def retrieve(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Those of the chunks that are here; the last ones are remembered, as pages are asked about
        again and again.
        """
        found = {name: chunk for name in chunk_ids if (chunk := self._known.get(name))}
        missing = [name for name in chunk_ids if name not in found]
        if missing:
            fresh = retrieve(self.shard, missing)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known.update(fresh)
            found |= fresh
        return found


_Stamp = tuple[int, int, int] | None


@dataclass(slots=True)
class OpenBook:
    stamp: _Stamp
    generation: Generation
    previous: int
    checked: float = -math.inf
    sizes_checked: float = -math.inf
    replaced: Generation | None = None
    """What this process had open before, or the generation before."""
    opened: float = math.inf
    damage: Damage | None = None
    """Of the current generation, when the one before answers."""
    retry_at: float = math.inf

    def retrieve_replaced(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Look in the generation before, which is opened by the first question that needs it."""
        folder = self.generation.folder
        try:
            if self.replaced is None:
                if not self.previous or not folder.generation(self.previous).is_dir():
                    return {}
                self.replaced = _load(folder, self.previous)
            with self.replaced.errors():
                return self.replaced.retrieve(chunk_ids)
        except StorageError as error:
            # Only a question from before the switch wanted it.
            fields = {"book": folder.book, "generation": self.previous, "reason": str(error)}
            _log.warning("index.replaced_generation_damaged", extra=fields)
            self.previous, self.replaced = 0, None
            return {}


@dataclass(frozen=True, slots=True)
class _Aside:
    """A book that cannot be read. It is tried again when `current` was switched, or later."""

    stamp: _Stamp
    reason: str
    until: float


class OpenBooks:
    """Opens a book when it is first asked for, and again after a switch. Thread-safe.

    A generation is opened when its files are as they were published. Else the one before is
    opened in its place; where that cannot be either, the book is set aside.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing open; `clock` gives seconds."""
        self._clock = clock
        self._books: dict[BookId, OpenBook] = {}
        self._aside: dict[BookId, _Aside] = {}
        self._listed: tuple[float, list[BookManifest]] = (-math.inf, [])
        self.switches = 0
        """Counts those of this process."""
        self._opening = threading.Lock()
        self._cut: list[Generation] = []

    def get(self, folder: BookFolder) -> OpenBook:
        """The book as readers see it now. BookNotFound when it is not published.

        While one thread opens a new generation, the others go on with the old one. StorageError
        when neither the current generation nor the one before can be opened.
        """
        book = folder.book
        known = self._books.get(book)
        if known is None:
            with self._opening:
                return self._look(folder)
        fresh = self._clock() - known.checked < _RECHECK_SECONDS
        if fresh or not self._opening.acquire(blocking=False):
            return known
        try:
            return self._look(folder)
        finally:
            self._opening.release()

    def manifest(self, folder: BookFolder) -> BookManifest:
        """Of the generation that answers; a book that is not open is not opened for it."""
        if folder.book in self._books:
            return self.get(folder).generation.manifest
        self._refuse_aside(folder)
        for _ in range(_ATTEMPTS):
            stamp = _stamp(folder)
            try:
                return _first_readable(folder)
            except StorageError as error:
                # Two switches in the meantime remove what `current` named.
                if stamp == _stamp(folder):
                    raise self._set_aside(folder, stamp, error) from error
        return _first_readable(folder)

    def damaged(self) -> dict[BookId, Damage]:
        """By what was seen so far."""
        open_books = list(self._books.items())
        found = {book: one.damage for book, one in open_books if one.damage}
        return found | {book: Damage(aside.reason) for book, aside in list(self._aside.items())}

    def listed(self) -> list[BookManifest] | None:
        """The manifests that were last kept, unless it is time to look again."""
        looked, manifests = self._listed
        return list(manifests) if self._clock() - looked < _RECHECK_SECONDS else None

    def keep_list(self, manifests: Sequence[BookManifest], switches: int) -> None:
        """Keep what a look has found that began after so many switches."""
        if switches == self.switches:
            self._listed = (self._clock(), list(manifests))

    def check(self, folder: BookFolder) -> None:
        """Open the book if it is not, and look at its files. StorageError when it cannot answer."""
        with self._opening:
            if known := self._books.get(folder.book):
                known.sizes_checked = known.checked = -math.inf
            self._look(folder)

    def failed(self, generation: Generation, error: StorageError) -> None:
        """The engine failed on an open generation: open it again, and so check it, a little later.

        One that cannot be checked is left alone for longer.
        """
        folder, number = generation.folder, generation.manifest.generation
        with self._opening:
            known = self._books.get(folder.book)
            if known is None or known.generation is not generation:
                return
            checked = folder.has_checksums(number)
            self._let_go(known)
            seconds = _RECHECK_SECONDS if checked else _RETRY_SECONDS
            self._set_aside(folder, known.stamp, error, seconds)

    def look_again(self, book: BookId) -> None:
        """Let the next `get` and `listed` look at once, after a switch in this process."""
        self.switches += 1
        self._forget_list()
        self._aside.pop(book, None)
        if known := self._books.get(book):
            known.checked = -math.inf

    def keep_only(self, published: Sequence[BookId]) -> None:
        """Forget what was set aside of books that are gone."""
        for book in set(self._aside).difference(published):
            self._aside.pop(book, None)

    def _look(self, folder: BookFolder) -> OpenBook:
        book = folder.book
        self._refuse_aside(folder)
        stamp, opened = _stamp(folder), self._books.get(book)
        wrong = self._wrong_sizes(opened) if opened else False
        if opened and wrong and opened.generation.is_cut():
            self._let_go(opened)
            opened = None
        due = opened is None or opened.stamp != stamp or self._clock() >= opened.retry_at
        if opened is None or due or wrong:
            try:
                opened = self._open(folder, opened)
            except BookNotFound:
                self._books.pop(book, None)
                self._aside.pop(book, None)
                raise
            except StorageError as error:
                if opened is None:
                    raise self._set_aside(folder, stamp, error) from error
                opened = self._instead(opened.generation, stamp, error, opened.damage)
            self._books[book] = opened
            self._aside.pop(book, None)
            self._forget_list()
        opened.checked = self._clock()
        if opened.checked - opened.opened > _REPLACED_SECONDS:
            opened.replaced, opened.opened = None, math.inf
        return opened

    def _open(
        self, folder: BookFolder, before: OpenBook | None, attempts: int = _ATTEMPTS
    ) -> OpenBook:
        with storage_errors(folder.path):
            stamp, current = folder.stamp(), _current(folder)
        try:
            generation = _load(folder, current.generation)
        except StorageError as error:
            if attempts > 1 and _stamp(folder) != stamp:
                # Two switches in the meantime remove what `current` named above.
                return self._open(folder, before, attempts - 1)
            if not current.previous:
                raise
            if before and before.generation.manifest.generation == current.previous:
                generation = before.generation
            else:
                generation = _load(folder, current.previous)
            return self._instead(generation, stamp, error, before.damage if before else None)
        now, replaced = self._clock(), before.generation if before else None
        return OpenBook(stamp, generation, current.previous, -math.inf, now, replaced, now)

    def _instead(
        self, generation: Generation, stamp: _Stamp, error: StorageError, known: Damage | None
    ) -> OpenBook:
        """Let a generation answer in the place of the current one, which is damaged."""
        damage = Damage(str(error), answers=True)
        if damage != known:
            manifest = generation.manifest
            fields = {"book": manifest.book, "answers": manifest.generation, "reason": str(error)}
            _log.error("index.generation_damaged", extra=fields)
        retry_at = self._clock() + _RETRY_SECONDS
        return OpenBook(stamp, generation, 0, damage=damage, retry_at=retry_at)

    def _wrong_sizes(self, opened: OpenBook) -> bool:
        """Whether files of an open generation are cut, or gone: looked at every few seconds."""
        if self._clock() - opened.sizes_checked < _SIZES_SECONDS:
            return False
        opened.sizes_checked = self._clock()
        return bool(opened.generation.wrong_sizes())

    def _let_go(self, opened: OpenBook) -> None:
        """Use a generation no more. To close one that is cut would write beyond an end."""
        self._books.pop(opened.generation.folder.book, None)
        if opened.generation.is_cut():
            self._cut.append(opened.generation)

    def _refuse_aside(self, folder: BookFolder) -> None:
        aside = self._aside.get(folder.book)
        if aside and self._clock() < aside.until and _stamp(folder) == aside.stamp:
            raise StorageError(aside.reason)

    def _set_aside(
        self,
        folder: BookFolder,
        stamp: _Stamp,
        error: StorageError,
        seconds: float = _RETRY_SECONDS,
    ) -> StorageError:
        before = self._aside.get(folder.book)
        if before is None or before.reason != str(error):
            fields = {"book": folder.book, "reason": str(error)}
            _log.error("index.book_set_aside", extra=fields)
        self._books.pop(folder.book, None)
        self._aside[folder.book] = _Aside(stamp, str(error), self._clock() + seconds)
        self._forget_list()
        return error

    def _forget_list(self) -> None:
        self._listed = (-math.inf, [])


def _stamp(folder: BookFolder) -> _Stamp:
    with storage_errors(folder.path):
        return folder.stamp()


def _current(folder: BookFolder) -> Current:
    current = folder.current()
    if current is None:
        message = f"no book {folder.book!r} in the index"
        raise BookNotFound(message)
    return current


def _first_readable(folder: BookFolder) -> BookManifest:
    """Of the current generation, else of the one before."""
    with storage_errors(folder.path):
        current = _current(folder)
        try:
            return folder.manifest(current.generation)
        except IndexUnreadable:
            if not current.previous:
                raise
            return folder.manifest(current.previous)


def _load(folder: BookFolder, number: int) -> Generation:
    """Open a generation whose files and number of chunks are as they were published."""
    path = folder.generation(number)
    with storage_errors(path):
        manifest = folder.check(number)
        copy = copy_if_needed(path / "shard")
        shard = load_shard(copy.path if copy else path / "shard")
        check_count(path, manifest, shard)
        return Generation(folder, shard, manifest, copy)


def check_count(path: Path, manifest: BookManifest, shard: edge.EdgeShard) -> None:
    """IndexUnreadable when the index does not have as many chunks as its manifest says."""
    if (found := count(shard)) != manifest.chunks:
        message = f"{path}: {found} chunks are there, but the book has {manifest.chunks}"
        raise IndexUnreadable(message)


def faults(folder: BookFolder, *, before: bool) -> list[str]:
    """What is wrong with the current generation, or the one before, a line each; BookNotFound."""
    try:
        with storage_errors(folder.path):
            current = _current(folder)
            number = current.previous if before else current.generation
            if before and not number:
                return []
            if wrong := folder.wrong_files(number):
                return [
                    f"{folder.generation(number) / name}: not as it was published" for name in wrong
                ]
            if not folder.has_checksums(number):
                _load(folder, number)
    except StorageError as error:
        return [str(error)]
    return []
