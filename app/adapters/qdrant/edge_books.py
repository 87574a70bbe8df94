"""The generations of the embedded index that this process has open, and unreadable books."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.adapters.qdrant.edge_generation import Generation, first_readable, load, published
from app.adapters.qdrant.edge_shard import storage_errors
from app.adapters.qdrant.folder import BookFolder
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, StorageError
from app.services.ports import BookList, BookManifest, Damage

_log = logging.getLogger(__name__)

_RECHECK_SECONDS = 0.5
"""Shortest time between two checks whether `current` was switched."""

_SIZES_SECONDS = 5.0
"""Shortest time between two checks of the sizes of open files: the engine maps them into memory,
and reading beyond the end of a truncated one kills the process."""

_RETRY_SECONDS = 30.0
"""Time until a damaged generation is checked again, unless `current` is switched: a check reads all
of it."""

_REPLACED_SECONDS = 60.0
"""How long a generation stays open after a switch, for questions that began before it."""

_ATTEMPTS = 3

_Stamp = tuple[int, int, int] | None


@dataclass(slots=True)
class OpenBook:
    stamp: _Stamp
    generation: Generation
    previous: int
    checked: float = -math.inf
    sizes_checked: float = -math.inf
    replaced: Generation | None = None
    """The generation that this process had open before, else the previous one."""
    opened: float = math.inf
    damage: Damage | None = None
    """Damage of the current generation, if the previous one answers."""
    retry_at: float = math.inf

    def retrieve_replaced(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Look in the previous generation, which the first question that needs it opens."""
        folder = self.generation.folder
        try:
            if self.replaced is None:
                if not self.previous or not folder.generation(self.previous).is_dir():
                    return {}
                self.replaced = load(folder, self.previous)
            with self.replaced.errors():
                return self.replaced.retrieve(chunk_ids)
        except StorageError as error:
            # Only a question that began before the switch needs it.
            fields = {"book": folder.book, "generation": self.previous, "reason": str(error)}
            _log.warning("index.replaced_generation_damaged", extra=fields)
            self.previous, self.replaced = 0, None
            return {}


@dataclass(frozen=True, slots=True)
class _Aside:
    """An unreadable book; it is tried again after a switch of `current`, or after a while."""

    stamp: _Stamp
    reason: str
    until: float


class OpenBooks:
    """Opens books at their first use, and again after a switch. Thread-safe.

    A generation is opened if its files are unchanged since publication; else the previous one is.
    If neither can be opened, the book is marked as unreadable.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing open; `clock` gives seconds."""
        self._clock = clock
        self._books: dict[BookId, OpenBook] = {}
        self._aside: dict[BookId, _Aside] = {}
        self._listed = (-math.inf, BookList())
        self.switches = 0
        """Switches by this process."""
        self._opening = threading.Lock()
        self._cut: list[Generation] = []

    def get(self, folder: BookFolder) -> OpenBook:
        """Return the book as readers see it now.

        While one thread opens a new generation, the others use the old one. BookNotFound if it is
        not published, StorageError if neither the current nor the previous generation can be
        opened.
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

    def cached(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk] | None:
        """Return these chunks if all are in memory and the book needs no check; nothing is read."""
        known = self._books.get(book)
        if known is None or self._clock() - known.checked >= _RECHECK_SECONDS:
            return None
        return known.generation.cached(chunk_ids)

    def manifest(self, folder: BookFolder) -> BookManifest:
        """Return the manifest of the generation in use; no book is opened."""
        if folder.book in self._books:
            return self.get(folder).generation.manifest
        self._refuse_aside(folder)
        for _ in range(_ATTEMPTS):
            stamp = _stamp(folder)
            try:
                return first_readable(folder)
            except StorageError as error:
                # Two switches in the meantime remove what `current` named.
                if stamp == _stamp(folder):
                    raise self._set_aside(folder, stamp, error) from error
        return first_readable(folder)

    def damaged(self) -> dict[BookId, Damage]:
        """Return the damaged books known so far; nothing is read."""
        open_books = list(self._books.items())
        found = {book: one.damage for book, one in open_books if one.damage}
        return found | {book: Damage(aside.reason) for book, aside in list(self._aside.items())}

    def listed(self) -> BookList | None:
        """The cached manifests; None if they are too old."""
        looked, manifests = self._listed
        return manifests if self._clock() - looked < _RECHECK_SECONDS else None

    def keep_list(self, manifests: Sequence[BookManifest], switches: int) -> BookList:
        """Cache manifests that were read after this number of switches.

        The list is the one before if no manifest changed.
        """
        before, found = self._listed[1], BookList(manifests)
        kept = before if before.named() == found.named() else found
        if switches == self.switches:
            self._listed = (self._clock(), kept)
        return kept

    def check(self, folder: BookFolder) -> None:
        """Open the book if necessary and check its files. StorageError if it cannot answer."""
        with self._opening:
            if known := self._books.get(folder.book):
                known.sizes_checked = known.checked = -math.inf
            self._look(folder)

    def failed(self, generation: Generation, error: StorageError) -> None:
        """Schedule a check and reopening of the generation after a failure of the engine.

        A generation without checksums waits longer.
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
        """Make the next `get` and `listed` read again, after a switch in this process."""
        self.switches += 1
        self._forget_list()
        self._aside.pop(book, None)
        if known := self._books.get(book):
            known.checked = -math.inf

    def keep_only(self, published: Sequence[BookId]) -> None:
        """Forget unreadable books that were removed."""
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
        if opened is None or wrong or opened.stamp != stamp or self._clock() >= opened.retry_at:
            opened = self._opened_anew(folder, opened, stamp)
        opened.checked = self._clock()
        if opened.checked - opened.opened > _REPLACED_SECONDS:
            opened.replaced, opened.opened = None, math.inf
        return opened

    def _opened_anew(self, folder: BookFolder, before: OpenBook | None, stamp: _Stamp) -> OpenBook:
        """Open the published generation; if it cannot be read, keep the one open before."""
        book = folder.book
        try:
            opened = self._open(folder, before)
        except BookNotFound:
            self._books.pop(book, None)
            self._aside.pop(book, None)
            raise
        except StorageError as error:
            if before is None:
                raise self._set_aside(folder, stamp, error) from error
            opened = self._instead(before.generation, stamp, error, before.damage)
        self._books[book] = opened
        self._aside.pop(book, None)
        self._forget_list()
        return opened

    def _open(
        self, folder: BookFolder, before: OpenBook | None, attempts: int = _ATTEMPTS
    ) -> OpenBook:
        with storage_errors(folder.path):
            stamp, current = folder.stamp(), published(folder)
        try:
            generation = load(folder, current.generation)
        except StorageError as error:
            if attempts > 1 and _stamp(folder) != stamp:
                # Two switches in the meantime remove what `current` named above.
                return self._open(folder, before, attempts - 1)
            if not current.previous:
                raise
            if before and before.generation.manifest.generation == current.previous:
                generation = before.generation
            else:
                generation = load(folder, current.previous)
            return self._instead(generation, stamp, error, before.damage if before else None)
        now, replaced = self._clock(), before.generation if before else None
        return OpenBook(stamp, generation, current.previous, -math.inf, now, replaced, now)

    def _instead(
        self, generation: Generation, stamp: _Stamp, error: StorageError, known: Damage | None
    ) -> OpenBook:
        """Use another generation in place of the damaged current one."""
        damage = Damage(str(error), answers=True)
        if damage != known:
            manifest = generation.manifest
            fields = {"book": manifest.book, "answers": manifest.generation, "reason": str(error)}
            _log.error("index.generation_damaged", extra=fields)
        retry_at = self._clock() + _RETRY_SECONDS
        return OpenBook(stamp, generation, 0, damage=damage, retry_at=retry_at)

    def _wrong_sizes(self, opened: OpenBook) -> bool:
        """Whether files of an open generation are truncated or missing; checked now and then."""
        if self._clock() - opened.sizes_checked < _SIZES_SECONDS:
            return False
        opened.sizes_checked = self._clock()
        return bool(opened.generation.wrong_sizes())

    def _let_go(self, opened: OpenBook) -> None:
        """Stop using a generation. A truncated one stays open: closing writes past its end."""
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
        self._listed = (-math.inf, self._listed[1])


def _stamp(folder: BookFolder) -> _Stamp:
    with storage_errors(folder.path):
        return folder.stamp()
