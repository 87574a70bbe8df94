"""Upper bound of what each term of a question can add to a BM25 score, read from the index.

A search for one term alone gives its best score in any chunk: high for a rare term, low for one
that is everywhere, none for one that is not in the book.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import log

from cachetools import LRUCache

from app.domain.book_id import BookId
from app.services.ports import BookManifest, SparseEncoder, VectorIndex

_CACHED_TERMS = 50_000
"""A few MB."""
_UNKNOWN_WEIGHT = 1.3
"""BM25 weight of a term that is in no chunk: that of a term which occurs once or twice. Of 1.0,
1.3, 1.6 and 2.1 it separated answerable and out-of-domain questions of the dev sets best."""


@dataclass(slots=True)
class TermUpperBounds:
    index: VectorIndex
    sparse: SparseEncoder
    _known: LRUCache[tuple[str, int], float] = field(
        default_factory=lambda: LRUCache(_CACHED_TERMS), init=False, compare=False, repr=False
    )

    def terms(self, text: str, language: str) -> frozenset[int]:
        """The ids of the text's terms, as a search for it would use them."""
        return frozenset(self.sparse.encode_query(text, language).indices)

    def ordered_terms(self, text: str, language: str) -> list[int]:
        """The ids of the text's terms as they come, repeats kept."""
        return self.sparse.terms(text, language)

    async def of(self, terms: Collection[int], books: Sequence[BookId] = ()) -> dict[int, float]:
        """Each term's upper bound in these books, or in all; StorageError if the index fails.

        A term that is in no book gets that of the rarest possible term.
        """
        manifests = await self._manifests(books)
        scope = "/".join(f"{one.book}@{one.book_version}.{one.generation}" for one in manifests)
        bounds = {term: self._known.get((scope, term), 0.0) for term in terms}
        unseen = [term for term, bound in bounds.items() if not bound]
        if unseen:
            bounds.update(zip(unseen, await self._search(unseen, manifests), strict=True))
            self._known.update({(scope, term): bounds[term] for term in unseen})
        return bounds

    async def missing(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> set[int]:
        """The terms that no chunk of these books, or of any, has; StorageError if it fails."""
        scores = await self.index.best_scores(terms, books)
        return {term for term, score in zip(terms, scores, strict=True) if not score}

    async def _manifests(self, books: Sequence[BookId]) -> list[BookManifest]:
        return [one for one in await self.index.books() if not books or one.book in books]

    async def _search(self, terms: Sequence[int], manifests: Sequence[BookManifest]) -> list[float]:
        chunks = sum(one.chunks for one in manifests)
        unknown = _UNKNOWN_WEIGHT * log(1 + (chunks + 0.5) / 0.5)
        found = await self.index.best_scores(terms, [one.book for one in manifests])
        return [score or unknown for score in found]
