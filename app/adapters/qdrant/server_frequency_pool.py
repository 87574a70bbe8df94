"""Document frequencies summed over many books, updated as books change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from app.adapters.qdrant.document_frequencies import Frequencies, idf

_BATCH = 500
"""Generations that are read and added in one step."""

Read = Callable[[Sequence[str]], Awaitable[dict[str, Frequencies]]]
"""Returns frequencies by generation key; deleted generations are left out."""


class FrequencyPool:
    """Sums the document frequencies of the set of generations that was asked for last.

    Takes 12 bytes for each distinct term. For another set, only the generations in which the sets
    differ are read.
    """

    def __init__(self) -> None:
        """The pool starts empty."""
        self._clear()

    async def idf(self, keys: Sequence[str], terms: Sequence[int], read: Read) -> dict[int, float]:
        """Return the idf of each term over these generations, as if they were one book."""
        wanted = set(keys)
        if self._keys != wanted:
            await self._change(wanted, read)
        if not len(self._terms):
            return {term: idf(self._documents, 0) for term in terms}
        asked = np.array(terms, np.uint32)
        places = np.searchsorted(self._terms, asked).clip(max=len(self._terms) - 1)
        counts = np.where(self._terms[places] == asked, self._counts[places], 0).tolist()
        return {term: idf(self._documents, n) for term, n in zip(terms, counts, strict=True)}

    def _clear(self) -> None:
        self._keys: set[str] = set()
        self._documents = 0
        self._terms: NDArray[np.uint32] = np.empty(0, np.uint32)
        self._counts: NDArray[np.int64] = np.empty(0, np.int64)

    async def _change(self, wanted: set[str], read: Read) -> None:
        gone = sorted(self._keys - wanted)
        # If most of the set is replaced, start again: that reads less than subtracting the old.
        old = await read(gone) if len(gone) <= len(wanted) // 2 else {}
        if len(old) == len(gone):
            await self._sum(gone, old, -1)
        else:
            # Some of the old generations were deleted on the server: they cannot be subtracted.
            self._clear()
        new = sorted(wanted - self._keys)
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            await self._sum(batch, await read(batch), 1)

    async def _sum(self, keys: Sequence[str], found: dict[str, Frequencies], sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) the frequencies of these keys; some may have none."""
        if not keys:
            return
        self._terms, self._counts = await asyncio.to_thread(
            _merged, self._terms, self._counts, found.values(), sign
        )
        self._documents += sign * sum(one.documents for one in found.values())
        self._keys = self._keys.union(keys) if sign > 0 else self._keys.difference(keys)


def _merged(
    terms: NDArray[np.uint32], counts: NDArray[np.int64], found: Iterable[Frequencies], sign: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the sorted terms of all and the sums of their counts; terms with sum 0 are dropped."""
    each = list(found)
    every = np.concatenate([terms, *(np.frombuffer(one.terms, np.uint32) for one in each)])
    more = (np.frombuffer(one.counts, np.uint32).astype(np.int64) for one in each)
    addends = np.concatenate([counts, *(sign * one for one in more)])
    if not len(every):
        return terms, counts
    order = np.argsort(every, kind="stable")
    every = every[order]
    starts = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    sums = np.add.reduceat(addends[order], starts)
    return every[starts][sums != 0], sums[sums != 0]
