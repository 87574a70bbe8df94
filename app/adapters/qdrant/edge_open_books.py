"""The generations of the embedded index that this process has open, and unreadable books."""

from __future__ import annotations

import ctypes
import logging
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.adapters.qdrant.edge_folder import BookFolder
from app.adapters.qdrant.edge_generation import (
    ATTEMPTS,
    Generation,
    first_readable,
    load,
    published,
)
from app.adapters.qdrant.edge_shard import storage_errors
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, StorageError
from app.services.ports import BookList, BookManifest, Damage

_log = logging.getLogger(__name__)

_RECHECK_SECONDS = 0.5
"""Minimum time between two checks whether `current` was switched."""

_SIZES_SECONDS = 5.0
"""Minimum time between two checks of the sizes of open files. The engine maps them into memory, and
reading beyond the end of a truncated file kills the process (SIGBUS)."""

_RETRY_SECONDS = 30.0
"""Time until a damaged generation is checked again, unless `current` is switched before. A check
reads the whole generation."""

_REPLACED_SECONDS = 60.0
"""Time for which a replaced generation stays open, for questions that began before the switch."""

_Stamp = tuple[int, int, int] | None


@dataclass(slots=True)
class OpenBook:
    stamp: _Stamp
    generation: Generation
    previous: int
    checked: float = -math.inf
    sizes_checked: float = -math.inf
    replaced: Generation | None = None
    """The generation that this process had open before the switch, or the previous one."""
    opened: float = math.inf
    damage: Damage | None = None
    """Damage of the current generation, if `generation` is another one that answers instead."""
    retry_at: float = math.inf

    def retrieve_replaced(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the chunks that are in the replaced generation, by id; open it if necessary."""
        folder = self.generation.folder
        try:
            if self.replaced is None:
                if not self.previous:
                    return {}
                self.replaced = load(folder, self.previous)
            with self.replaced.errors():
                return self.replaced.retrieve(chunk_ids)
        except StorageError as error:
            # Not an error: only questions that began before the switch need this generation.
            if folder.generation(self.previous).is_dir():  # else another switch removed it
                fields = {"book": folder.book, "generation": self.previous, "reason": str(error)}
                _log.warning("index.replaced_generation_damaged", extra=fields)
            self.previous, self.replaced = 0, None
            return {}


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A book that cannot be read; tried again after a switch of `current` or at time `until`."""

    stamp: _Stamp
    reason: str
    until: float


class OpenBooks:
    """Opens books at their first use and again after a switch. Thread-safe.

    Opens the current generation if its files have not changed since publication, otherwise the
    previous one. If neither can be opened, the book is marked as unreadable.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """No book is open yet; `clock` gives seconds."""
        self._clock = clock
        self._books: dict[BookId, OpenBook] = {}
        self._unreadable: dict[BookId, _Unreadable] = {}
        self._listed = (-math.inf, BookList())
        self.switches = 0
        """Number of switches by this process."""
        self._opening = threading.Lock()

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
        """Return these chunks if all are in memory and the book needs no check. Reads no file."""
        known = self._books.get(book)
        if known is None or self._clock() - known.checked >= _RECHECK_SECONDS:
            return None
        return known.generation.cached(chunk_ids)

    def manifest(self, folder: BookFolder) -> BookManifest:
        """Return the manifest of the generation in use, without opening the book."""
        if folder.book in self._books:
            return self.get(folder).generation.manifest
        self._refuse_unreadable(folder)
        for _ in range(ATTEMPTS):
            stamp = _stamp(folder)
            try:
                return first_readable(folder)
            except StorageError as error:
                # Two switches meanwhile remove the generation that `current` named.
                if stamp == _stamp(folder):
                    raise self._mark_unreadable(folder, stamp, error) from error
        return first_readable(folder)

    def damaged(self) -> dict[BookId, Damage]:
        """Return the damaged books that are known so far. Reads no file."""
        open_books = list(self._books.items())
        found = {book: one.damage for book, one in open_books if one.damage}
        return found | {book: Damage(one.reason) for book, one in list(self._unreadable.items())}

    def listed(self) -> BookList | None:
        """The cached manifests; None if they are too old."""
        looked, manifests = self._listed
        return manifests if self._clock() - looked < _RECHECK_SECONDS else None

    def keep_list(self, manifests: Sequence[BookManifest], switches: int) -> BookList:
        """Cache and return manifests that were read after this number of switches.

        Returns the same list object as before if no manifest changed.
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
        """Close a generation after a failure of the engine; it is opened again later."""
        folder = generation.folder
        with self._opening:
            known = self._books.get(folder.book)
            if known is None or known.generation is not generation:
                return
            self._discard(known)
            self._mark_unreadable(folder, known.stamp, error, _RECHECK_SECONDS)

    def look_again(self, book: BookId) -> None:
        """Make the next `get` and `listed` read the disk, after a switch by this process."""
        self.switches += 1
        self._forget_list()
        self._unreadable.pop(book, None)
        if known := self._books.get(book):
            known.checked = -math.inf

    def keep_only(self, published: Sequence[BookId]) -> None:
        """Forget unreadable books that are no longer published."""
        for book in set(self._unreadable).difference(published):
            self._unreadable.pop(book, None)

    def _look(self, folder: BookFolder) -> OpenBook:
        book = folder.book
        self._refuse_unreadable(folder)
        stamp, opened = _stamp(folder), self._books.get(book)
        wrong = self._wrong_sizes(opened) if opened else False
        if opened and wrong and opened.generation.is_cut():
            self._discard(opened)
            opened = None
        if opened is None or wrong or opened.stamp != stamp or self._clock() >= opened.retry_at:
            opened = self._opened_anew(folder, opened, stamp)
        opened.checked = self._clock()
        if opened.checked - opened.opened > _REPLACED_SECONDS:
            opened.replaced, opened.opened = None, math.inf
        return opened

    def _opened_anew(self, folder: BookFolder, before: OpenBook | None, stamp: _Stamp) -> OpenBook:
        """Open the published generation; if it cannot be read, keep the one that was open."""
        book = folder.book
        try:
            opened = self._open(folder, before)
        except BookNotFound:
            self._books.pop(book, None)
            self._unreadable.pop(book, None)
            raise
        except StorageError as error:
            if before is None:
                raise self._mark_unreadable(folder, stamp, error) from error
            opened = self._fallback(before.generation, stamp, error, before.damage)
        self._books[book] = opened
        self._unreadable.pop(book, None)
        self._forget_list()
        return opened

    def _open(
        self, folder: BookFolder, before: OpenBook | None, attempts: int = ATTEMPTS
    ) -> OpenBook:
        with storage_errors(folder.path):
            stamp, current = folder.stamp(), published(folder)
        try:
            generation = load(folder, current.generation)
        except StorageError as error:
            if attempts > 1 and _stamp(folder) != stamp:
                # Two switches meanwhile remove the generation that `current` named above.
                return self._open(folder, before, attempts - 1)
            if not current.previous:
                raise
            if before and before.generation.manifest.generation == current.previous:
                generation = before.generation
            else:
                generation = load(folder, current.previous)
            return self._fallback(generation, stamp, error, before.damage if before else None)
        now, replaced = self._clock(), before.generation if before else None
        return OpenBook(stamp, generation, current.previous, -math.inf, now, replaced, now)

    def _fallback(
        self, generation: Generation, stamp: _Stamp, error: StorageError, known: Damage | None
    ) -> OpenBook:
        """Use another generation instead of the damaged current one."""
        damage = Damage(str(error), answers=True)
        if damage != known:
            manifest = generation.manifest
            fields = {"book": manifest.book, "answers": manifest.generation, "reason": str(error)}
            _log.error("index.generation_damaged", extra=fields)
        retry_at = self._clock() + _RETRY_SECONDS
        return OpenBook(stamp, generation, 0, damage=damage, retry_at=retry_at)

    def _wrong_sizes(self, opened: OpenBook) -> bool:
        """Whether files of an open generation are truncated or missing.

        False, without a check, for `_SIZES_SECONDS` after the last check.
        """
        if self._clock() - opened.sizes_checked < _SIZES_SECONDS:
            return False
        opened.sizes_checked = self._clock()
        return bool(opened.generation.wrong_sizes())

    def _discard(self, opened: OpenBook) -> None:
        """Stop using a generation.

        A truncated one is never closed, not even when the process ends: closing it writes past the
        end of a mapped file, which kills the process.
        """
        self._books.pop(opened.generation.folder.book, None)
        if opened.generation.is_cut():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened.generation.shard))

    def _refuse_unreadable(self, folder: BookFolder) -> None:
        known = self._unreadable.get(folder.book)
        if known and self._clock() < known.until and _stamp(folder) == known.stamp:
            raise StorageError(known.reason)

    def _mark_unreadable(
        self,
        folder: BookFolder,
        stamp: _Stamp,
        error: StorageError,
        seconds: float = _RETRY_SECONDS,
    ) -> StorageError:
        before = self._unreadable.get(folder.book)
        if before is None or before.reason != str(error):
            fields = {"book": folder.book, "reason": str(error)}
            _log.error("index.book_set_aside", extra=fields)
        self._books.pop(folder.book, None)
        self._unreadable[folder.book] = _Unreadable(stamp, str(error), self._clock() + seconds)
        self._forget_list()
        return error

    def _forget_list(self) -> None:
        self._listed = (-math.inf, self._listed[1])


def _stamp(folder: BookFolder) -> _Stamp:
    with storage_errors(folder.path):
        return folder.stamp()
