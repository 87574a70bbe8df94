"""Upper bounds of BM25 scores: the highest score of each term alone, read from the index.

The bound is high for a rare term and low for a frequent one. A term that is not in the book gets
about the bound of a term in one or two chunks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import log

from cachetools import LRUCache

from app.domain.indexed_book import BookList
from app.services.ports import VectorIndex

_CACHED_TERMS = 50_000
"""Terms in the cache, a few MB."""
_UNKNOWN_WEIGHT = 1.3
"""BM25 weight of a term that is in no chunk: the weight of a term in one or two chunks. Of 1.0,
1.3, 1.6 and 2.1 it separated answerable and out-of-domain questions of the dev sets best."""


@dataclass(slots=True)
class TermUpperBounds:
    index: VectorIndex
    _known: LRUCache[tuple[str, int], float] = field(
        default_factory=lambda: LRUCache(_CACHED_TERMS), init=False, compare=False, repr=False
    )

    async def of(self, terms: Collection[int], books: BookList) -> dict[int, float]:
        """Return each term's upper bound in these books. Raises StorageError."""
        chunks = sum(one.chunks for one in books.named())
        unknown = _UNKNOWN_WEIGHT * log(1 + (chunks + 0.5) / 0.5)
        scores = await self._best_scores(terms, books)
        return {term: scores[term] or unknown for term in terms}

    async def missing(self, terms: Collection[int], books: BookList) -> set[int]:
        """Return the terms that are in no chunk of these books. Raises StorageError."""
        scores = await self._best_scores(terms, books)
        return {term for term in terms if not scores[term]}

    async def _best_scores(self, terms: Collection[int], books: BookList) -> Mapping[int, float]:
        """Return each term's best score in a chunk of these books, 0 if none has it; cached."""
        scores = {
            term: score
            for term in terms
            if (score := self._known.get((books.generations, term))) is not None
        }
        unseen = [term for term in terms if term not in scores]
        if unseen:
            found = await self.index.best_scores(unseen, list(books))
            scores.update(zip(unseen, found, strict=True))
            self._known.update({(books.generations, term): scores[term] for term in unseen})
        return scores
