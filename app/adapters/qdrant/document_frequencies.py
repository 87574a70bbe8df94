"""Document frequencies of BM25 terms, and the inverse document frequency."""

from __future__ import annotations

import base64
import math
import struct
import sys
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.book_id import BookId
from app.domain.errors import IndexUnreadable
from app.domain.retrieval.query import SparseVector


def idf(documents: int, containing: int) -> float:
    """Inverse document frequency (Robertson and Zaragoza 2009), as Qdrant computes it."""
    return math.log((documents - containing + 0.5) / (containing + 0.5) + 1.0)


def document_frequency(documents: int, inverse: float) -> int:
    """Return the document frequency of a term with this inverse document frequency."""
    return max(0, round((documents + 1.0) / math.exp(inverse) - 0.5))


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Document frequencies of one generation; chunks without terms do not count as documents."""

    documents: int
    terms: array[int]
    """Ascending term ids, unsigned 32 bits."""
    counts: array[int]
    """Documents with the term at the same index of `terms`."""

    def of(self, term: int) -> int:
        place = bisect_left(self.terms, term)
        found = place < len(self.terms) and self.terms[place] == term
        return self.counts[place] if found else 0

    def to_text(self) -> str:
        """Base64 of the compressed numbers, little-endian: 6 bytes a term."""
        numbers = [self.documents, *self.terms, *self.counts]
        packed = struct.pack(f"<{len(numbers)}I", *numbers)
        return base64.b64encode(zlib.compress(packed, 6)).decode()

    @classmethod
    def from_text(cls, text: object, where: str) -> Frequencies:
        """IndexUnreadable, naming `where`, unless `to_text` wrote this."""
        try:
            packed = zlib.decompress(base64.b64decode(str(text), validate=True))
            numbers = array("I", packed)
            half, odd = divmod(len(numbers) - 1, 2)
            if odd or half < 0:
                raise ValueError(len(numbers))
        except (ValueError, zlib.error) as error:
            message = f"{where}: damaged document frequencies; ingest the book again"
            raise IndexUnreadable(message) from error
        if sys.byteorder == "big":
            numbers.byteswap()
        return cls(numbers[0], numbers[1 : half + 1], numbers[half + 1 :])


@dataclass(slots=True)
class FrequencyCounter:
    """Counts the chunks of a generation while it is written."""

    documents: int = 0
    _counts: Counter[int] = field(default_factory=Counter)

    def add(self, vector: SparseVector) -> None:
        if vector.indices:
            self.documents += 1
            self._counts.update(vector.indices)

    def result(self) -> Frequencies:
        terms = array("I", sorted(self._counts))
        return Frequencies(
            self.documents, terms, array("I", [self._counts[term] for term in terms])
        )


def pooled_idf(terms: Iterable[int], frequencies: Iterable[Frequencies]) -> dict[int, float]:
    """Return the inverse document frequencies over several books as if they were one."""
    every = list(frequencies)
    documents = sum(one.documents for one in every)
    return {term: idf(documents, sum(one.of(term) for one in every)) for term in terms}


@dataclass(frozen=True, slots=True)
class IdfConversion:
    """Converts BM25 scores with the idf in one book to scores with the idf over all books."""

    books: Mapping[BookId, tuple[int, Mapping[int, int]]]
    """Per book the number of documents and the document frequencies; empty: scores stay as is."""

    def factors(self, book: BookId, terms: Sequence[int]) -> list[float]:
        """For each term, its idf over all books divided by its idf in this book."""
        if book not in self.books:
            return [1.0] * len(terms)
        documents, counts = self.books[book]
        together = sum(number for number, _ in self.books.values())
        return [
            idf(together, sum(found[term] for _, found in self.books.values()))
            / idf(documents, counts[term])
            for term in terms
        ]

    def weighted(self, book: BookId, vector: SparseVector) -> SparseVector:
        factors = self.factors(book, vector.indices)
        return weighted(vector, dict(zip(vector.indices, factors, strict=True)))


def weighted(vector: SparseVector, weights: Mapping[int, float]) -> SparseVector:
    """Return the vector with each value multiplied by the weight of its term."""
    pairs = zip(vector.indices, vector.values, strict=True)
    return replace(vector, values=tuple(value * weights[term] for term, value in pairs))
