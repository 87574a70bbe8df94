"""Converts BM25 scores with the document frequencies of one book to those of several books.

The engine weights terms by their inverse document frequency in a shard, and a shard has one book.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.book_id import BookId
from app.domain.retrieval.query import SparseVector


def idf(documents: int, containing: int) -> float:
    """Inverse document frequency (Robertson and Zaragoza 2009), as Qdrant computes it."""
    return math.log((documents - containing + 0.5) / (containing + 0.5) + 1.0)


def document_frequency(documents: int, inverse: float) -> int:
    """Return the document frequency of a term with this inverse document frequency."""
    return max(0, round((documents + 1.0) / math.exp(inverse) - 0.5))


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Number of documents of a book, and how many of them contain each term."""

    documents: int
    containing: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class IdfConversion:
    books: Mapping[BookId, Frequencies]
    """The scores of a book that is not here stay as they are."""

    def factors(self, book: BookId, terms: Sequence[int]) -> list[float]:
        """For each term, its idf over all books divided by its idf in this book."""
        if book not in self.books:
            return [1.0] * len(terms)
        every, own = self.books.values(), self.books[book]
        documents = sum(one.documents for one in every)
        return [
            idf(documents, sum(one.containing[term] for one in every))
            / idf(own.documents, own.containing[term])
            for term in terms
        ]

    def weighted(self, book: BookId, vector: SparseVector) -> SparseVector:
        """Return the query's vector with each value multiplied by the factor of its term."""
        factors = self.factors(book, vector.indices)
        return replace(vector, values=tuple(map(float.__mul__, vector.values, factors)))
