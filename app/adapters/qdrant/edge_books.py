"""The generations of the embedded index that this process has open."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import qdrant_edge as edge

from app.adapters.qdrant.edge_shard import load_shard, retrieve, storage_errors
from app.adapters.qdrant.folder import BookFolder
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import BookNotFound, StorageError
from app.services.ports import BookManifest

_log = logging.getLogger(__name__)

_RECHECK_SECONDS = 0.5
"""How often, at most, a search looks whether `current` was switched."""

_ATTEMPTS = 3

_REMEMBERED = 2_000
"""Chunks of an open book, about 15 MB."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The engine closes the shard when the last search that holds it lets go."""

    folder: BookFolder
    shard: edge.EdgeShard
    manifest: BookManifest
    _known: dict[str, Chunk] = field(default_factory=dict, compare=False, repr=False)

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


@dataclass(slots=True)
class OpenBook:
    stamp: tuple[int, int, int]
    generation: Generation
    previous: int
    checked: float = -math.inf
    replaced: Generation | None = None

    def retrieve_replaced(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Look in the generation before, which is opened by the first question that needs it."""
        folder = self.generation.folder
        if not self.previous or not folder.generation(self.previous).is_dir():
            return {}
        if self.replaced is None:
            self.replaced = _load(folder, self.previous)
        return self.replaced.retrieve(chunk_ids)


class OpenBooks:
    """Opens a book when it is first asked for, and again after a switch. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with nothing open; `clock` gives seconds."""
        self._clock = clock
        self._books: dict[BookId, OpenBook] = {}
        self._listed: tuple[float, list[BookManifest]] = (-math.inf, [])
        self.switches = 0
        """Counts those of this process."""
        self._opening = threading.Lock()

    def get(self, folder: BookFolder) -> OpenBook:
        """The book as readers see it now. BookNotFound when it is not published.

        While one thread opens a new generation, the others go on with the old one; so do all when
        the new one cannot be opened.
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
        except StorageError as error:
            _log.exception("index.reopen_failed", extra={"book": book, "reason": str(error)})
            known.checked = self._clock()
            return known
        finally:
            self._opening.release()

    def listed(self) -> list[BookManifest] | None:
        """The manifests that were last kept, unless it is time to look again."""
        looked, manifests = self._listed
        return list(manifests) if self._clock() - looked < _RECHECK_SECONDS else None

    def keep_list(self, manifests: Sequence[BookManifest], switches: int) -> None:
        """Keep what a look has found that began after so many switches."""
        if switches == self.switches:
            self._listed = (self._clock(), list(manifests))

    def check(self, folder: BookFolder) -> None:
        """StorageError when the published generation cannot be opened."""
        with self._opening:
            self._look(folder)

    def look_again(self, book: BookId) -> None:
        """Let the next `get` and `listed` look at once, after a switch in this process."""
        self.switches += 1
        self._listed = (-math.inf, [])
        if known := self._books.get(book):
            known.checked = -math.inf

    def _look(self, folder: BookFolder, attempts: int = _ATTEMPTS) -> OpenBook:
        book = folder.book
        with storage_errors(folder.path):
            stamp, current = folder.stamp(), folder.current()
        if stamp is None or current is None:
            self._books.pop(book, None)
            message = f"no book {book!r} in the index"
            raise BookNotFound(message)
        opened = self._books.get(book)
        if opened is None or opened.stamp != stamp:
            try:
                generation = _load(folder, current.generation)
            except StorageError:
                # Two switches in the meantime remove what `current` named above.
                if attempts == 1 or folder.stamp() == stamp:
                    raise
                return self._look(folder, attempts - 1)
            opened = self._books[book] = OpenBook(stamp, generation, current.previous)
        opened.checked = self._clock()
        return opened


def _load(folder: BookFolder, number: int) -> Generation:
    path = folder.generation(number)
    with storage_errors(path):
        return Generation(folder, load_shard(path / "shard"), folder.manifest(number))
