"""The generation of a book of the embedded index that answers in this process."""

import logging
import math
from collections.abc import Callable, Sequence
from threading import Lock

from app.adapters.qdrant.disk import storage_errors
from app.adapters.qdrant.edge_folder import BookFolder, Stamp
from app.adapters.qdrant.edge_generation import Generation
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, StorageError
from app.domain.indexed_book import BookManifest, Damage

_log = logging.getLogger(__name__)

RECHECK_SECONDS = 0.5
"""Minimum time between two looks whether there is a new generation, and whether open files still
have their sizes: the engine maps them into memory, and reading beyond the end of a truncated file
kills the process (SIGBUS)."""

_RETRY_SECONDS = 30.0
"""Time until a damaged generation is checked again, unless another one is published. A check
reads the whole generation."""


class OpenBook:
    """Opens a book at its first use and again after a switch. Thread-safe.

    Opens the current generation if its files have not changed since publication. Otherwise the one
    that was open answers, or the previous one; if neither can be opened, none.
    """

    def __init__(
        self, folder: BookFolder, clock: Callable[[], float], on_change: Callable[[], None]
    ) -> None:
        """Nothing is opened yet; `clock` gives seconds.

        `on_change` is called when another generation answers, or may.
        """
        self.folder = folder
        self.damage: Damage | None = None
        """Damage of the current generation."""
        self._clock = clock
        self._on_change = on_change
        self._generation: Generation | None = None
        """The generation that answers; None if none can be opened."""
        self._stamp: Stamp = None
        self._look_at = -math.inf
        self._retry_at = math.inf
        """Time of the next check of a damaged book."""
        self._opening = Lock()

    def get(self) -> Generation:
        """Return the generation that answers.

        While one thread opens a new generation, the others use the old one. BookNotFound if the
        book is not published, StorageError if none of its generations can be opened.
        """
        if not self._is_fresh() and self._opening.acquire(blocking=self._generation is None):
            try:
                self._look()
            finally:
                self._opening.release()
        if self._generation is None:
            raise StorageError(self.damage.reason if self.damage else "")
        return self._generation

    def cached(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Return those of the chunks that are in memory, by id; none if the book needs a look.

        Reads no file.
        """
        return self._generation.cached(chunk_ids) if self._generation and self._is_fresh() else {}

    def manifest(self) -> BookManifest:
        """Return the manifest of the generation that answers, without opening the book."""
        if self._generation is None and self.damage is None:
            try:
                with storage_errors(self.folder.path):
                    current = lambda: self.folder.stored(self.folder.kept()[0])  # noqa: E731
                    return self.folder.settled(current).manifest
            except StorageError:
                pass  # the generation before may answer
        return self.get().manifest

    def invalidate(self) -> None:
        """Make the next `get` open the book again, after a switch or a failure of the engine."""
        self._look_at = self._retry_at = -math.inf
        self._on_change()

    def _is_fresh(self) -> bool:
        """Whether the book needs no look now; one that cannot answer is looked at each time."""
        return self._generation is not None and self._clock() < self._look_at

    def _look(self) -> None:
        with storage_errors(self.folder.path):
            stamp = self.folder.stamp()
        if not self._is_unchanged(stamp):
            try:
                self._open()
            finally:
                self._on_change()
            self._stamp = stamp
        self._look_at = self._clock() + RECHECK_SECONDS

    def _is_unchanged(self, stamp: Stamp) -> bool:
        """Whether the files are as they were when the generation was opened or found damaged."""
        open_now = self._generation
        if stamp != self._stamp or self._clock() >= self._retry_at:
            return False
        return not open_now.stored.wrong_sizes() if open_now else self.damage is not None

    def _open(self) -> None:
        """Open the current generation; if it cannot be read, set it aside."""
        try:
            with storage_errors(self.folder.path):
                load = lambda: Generation.load(self.folder, self.folder.kept()[0])  # noqa: E731
                self._generation, self.damage = self.folder.settled(load), None
                self._retry_at = math.inf
        except BookNotFound:
            self._generation = self.damage = None
            raise
        except StorageError as error:
            usable = self._generation and not self._generation.is_cut()
            other = self._generation if usable else Generation.previous(self.folder)
            self._set_aside(other, str(error))

    def _set_aside(self, answers: Generation | None, reason: str) -> None:
        """Answer from another generation, or not at all, and try again later."""
        damage = Damage(reason, answers=answers is not None)
        if damage != self.damage:
            event = "index.generation_damaged" if answers else "index.book_set_aside"
            _log.error(event, extra={"book": self.folder.book, "reason": reason})
        self._generation, self.damage = answers, damage
        self._retry_at = self._clock() + _RETRY_SECONDS
