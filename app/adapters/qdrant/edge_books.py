"""The generations of the embedded index that this process has open."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from app.adapters.qdrant.edge_folder import BookFolder, Stamp
from app.adapters.qdrant.edge_generation import Generation
from app.adapters.qdrant.edge_shard import storage_errors
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, StorageError
from app.domain.indexed_book import BookManifest, Damage

_log = logging.getLogger(__name__)

RECHECK_SECONDS = 0.5
"""Minimum time between two looks whether `current` was switched, and whether open files still have
their sizes: the engine maps them into memory, and reading beyond the end of a truncated file kills
the process (SIGBUS)."""

_RETRY_SECONDS = 30.0
"""Time until a damaged generation is checked again, unless `current` is switched before. A check
reads the whole generation."""


@dataclass(slots=True)
class _OpenBook:
    """What this process knows of a published book."""

    stamp: Stamp
    generation: Generation | None
    """The generation that answers; None if none can be opened."""
    damage: Damage | None = None
    """Damage of the current generation."""
    retry_at: float = math.inf
    """Time of the next check of a damaged book."""
    looked_at: float = -math.inf

    def is_due(self, now: float) -> bool:
        """Whether to open the book again although `current` was not switched."""
        one = self.generation
        return now >= self.retry_at or (one is not None and bool(one.stored.wrong_sizes()))

    def answering(self) -> Generation:
        """StorageError if no generation can be opened."""
        if self.generation is None:
            raise StorageError(self.damage.reason if self.damage else "")
        return self.generation


class OpenBooks:
    """Opens books at their first use and again after a switch. Thread-safe.

    Opens the current generation if its files have not changed since publication. Otherwise the one
    that was open answers, or the previous one; if neither can be opened, none.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """No book is open yet; `clock` gives seconds."""
        self._clock = clock
        self._books: dict[BookId, _OpenBook] = {}
        self.listed_at = -math.inf
        """Time of the last listing of the books; -inf after a change that this process knows."""
        self._opening = threading.Lock()

    def get(self, folder: BookFolder) -> Generation:
        """Return the generation that answers.

        While one thread opens a new generation, the others use the old one. BookNotFound if the
        book is not published, StorageError if none of its generations can be opened.
        """
        known = self._books.get(folder.book)
        if known and self._is_fresh(known):
            return known.answering()
        if not self._opening.acquire(blocking=known is None):
            return known.answering()  # type: ignore[union-attr]  # only a known book does not wait
        try:
            return self._look(folder).answering()
        finally:
            self._opening.release()

    def cached(self, book: BookId, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in memory, by id; none if the book needs a look.

        Reads no file.
        """
        known = self._books.get(book)
        if known is None or not self._is_fresh(known):
            return {}
        return known.answering().cached(chunk_ids)

    def manifest(self, folder: BookFolder) -> BookManifest:
        """Return the manifest of the generation that answers, without opening the book."""
        if folder.book not in self._books:
            try:
                with storage_errors(folder.path):
                    return folder.settled(lambda: folder.stored(folder.kept()[0])).manifest
            except StorageError:
                pass  # the generation before may answer
        return self.get(folder).manifest

    def damaged(self) -> dict[BookId, Damage]:
        """Return the damaged books that are known so far. Reads no file."""
        return {book: one.damage for book, one in list(self._books.items()) if one.damage}

    def look_again(self, book: BookId) -> None:
        """Make the next `get` open the book again, after a switch or a failure of the engine."""
        self.listed_at = -math.inf
        if known := self._books.get(book):
            known.looked_at = known.retry_at = -math.inf

    def keep_only(self, published: Collection[BookId]) -> None:
        """Forget books that are no longer published."""
        for book in set(self._books).difference(published):
            self._books.pop(book, None)

    def _is_fresh(self, known: _OpenBook) -> bool:
        """Whether the book needs no look now; one that cannot answer is looked at each time."""
        return bool(known.generation) and self._clock() - known.looked_at < RECHECK_SECONDS

    def _look(self, folder: BookFolder) -> _OpenBook:
        with storage_errors(folder.path):
            stamp, known = folder.stamp(), self._books.get(folder.book)
        if known is None or known.stamp != stamp or known.is_due(self._clock()):
            known = self._open(folder)
        known.looked_at = self._clock()
        return known

    def _open(self, folder: BookFolder) -> _OpenBook:
        """Open the current generation; if it cannot be read, set the book aside."""
        stamp, book = None, folder.book
        try:
            with storage_errors(folder.path):
                stamp = folder.stamp()
                load = lambda: Generation.load(folder, folder.kept()[0])  # noqa: E731
                self._books[book] = _OpenBook(stamp, folder.settled(load))
                self.listed_at = -math.inf
        except BookNotFound:
            self._books.pop(book, None)
            raise
        except StorageError as error:
            known = self._books.get(book)
            usable = known and known.generation and not known.generation.is_cut()
            answers = known.generation if known and usable else Generation.previous(folder)
            self._set_aside(book, stamp, answers, error)
        return self._books[book]

    def _set_aside(
        self, book: BookId, stamp: Stamp, answers: Generation | None, error: StorageError
    ) -> None:
        """Answer from another generation, or not at all, and try again later."""
        damage, known = Damage(str(error), answers=answers is not None), self._books.get(book)
        if known is None or damage != known.damage:
            event = "index.generation_damaged" if answers else "index.book_set_aside"
            _log.error(event, extra={"book": book, "reason": damage.reason})
        self.listed_at = -math.inf
        self._books[book] = _OpenBook(stamp, answers, damage, self._clock() + _RETRY_SECONDS)
