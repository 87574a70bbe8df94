"""BM25: vectors of chunks and questions, bounds of scores, and a term for each definition.

A term that a chunk defines, or that is a heading in it, adds a definition term to the chunk's
vector; a question for this term has the same definition term. So the definition of a word is found
however often the book uses the word.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from cachetools import LRUCache

from app.domain.chunking.chunk import Chunk
from app.domain.definitions import definition_id, definition_targets, question_targets
from app.domain.indexed_book import BookList
from app.domain.languages import in_any, known_language
from app.domain.retrieval.chunk_terms import TermsOf, defined_terms, heading_targets
from app.domain.retrieval.query import SparseVector, blend
from app.domain.terms import sentences
from app.services.ports import VectorIndex

# Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework".
_K1 = 1.2
_B = 0.75
_AVERAGE_LENGTH = 200.0
"""Usual number of terms in a chunk, stop words left out. A constant: a vector depends only on its
text, so an unchanged chunk keeps its vector."""

FINGERPRINT = f"bm25/{_K1}/{_B}/{_AVERAGE_LENGTH} definitions-6"
"""Version of the encoding. Change it with every change that affects the vectors of chunks."""

MOST_TERMS = 64
"""Maximum number of terms of a long question used for rescoring, because each costs a search."""

_JOIN = re.compile(rf",?\s(?:{in_any('joins')})\s(?=(?:{in_any('joined')})\b)", re.IGNORECASE)
"""Between the questions of "what does k1 do and what happens if it is 0?"."""

_DEFINITION = 1.0
"""Weight of a definition term. It needs no higher one: its inverse document frequency is high."""
_CACHED_TERMS = 50_000
"""Terms in the cache, a few MB."""
_UNKNOWN_WEIGHT = 1.3
"""BM25 weight of a term that is in no chunk: the weight of a term in one or two chunks. Of 1.0,
1.3, 1.6 and 2.1 it separated answerable and out-of-domain questions of the dev sets best."""


@dataclass(frozen=True, slots=True)
class LexicalEncoder:
    """Encodes texts as terms of the index, each language with its own stems and stop words."""

    ordered_terms: TermsOf
    """Returns the ids of a text's terms in order, with repeats."""
    query_terms: TermsOf
    """The same for a text that is searched for."""

    def terms(self, text: str, language: str) -> frozenset[int]:
        """Return the ids of the text's terms as in a search."""
        return frozenset(self.query_terms(text, language))

    def query_vector(self, text: str, language: str) -> SparseVector:
        """Return the BM25 vector of a text that is searched for."""
        ids = sorted({*self.query_terms(text, language)})
        return SparseVector(tuple(ids), (1.0,) * len(ids))

    def question_vector(
        self, question: str, language: str, targets: Collection[tuple[int, ...]]
    ) -> SparseVector:
        """Return the BM25 vector of a question, with the terms of what it asks to define."""
        return _with_definitions(self.query_vector(question, language), targets)

    def question_terms(self, question: str, language: str) -> list[int]:
        """Return the ids of a question's terms in order, with repeats, of a long one the first."""
        return self.ordered_terms(question, language)[:MOST_TERMS]

    def definition_targets(
        self, question: str, language: str, absent: Collection[int]
    ) -> dict[tuple[int, ...], float]:
        """Return the terms whose definition the question may ask for, as `question_targets`.

        A clause of the question may ask for one, too. Terms that are `absent` from the book are
        no part of a term that it defines.
        """
        known = known_language(language)
        framing = self.ordered_terms(f"{known.frame} {known.comparison}", language)
        frame_words = {*framing, *absent}
        clauses = [one for said in sentences(question) for one in _JOIN.split(said)]
        terms = [self.ordered_terms(one, language) for one in clauses]
        of_clauses = (definition_targets(one, frame_words) for one in terms)
        whole = question_targets(self.ordered_terms(question, language), frame_words)
        return whole | dict.fromkeys(frozenset().union(*of_clauses), 1.0)


@dataclass(slots=True)
class TermUpperBounds:
    """Upper bounds of BM25 scores: the highest score of each term alone, read from the index.

    The bound is high for a rare term and low for a frequent one. A term that is not in the book
    gets about the bound of a term in one or two chunks.
    """

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


def chunk_vector(chunk: Chunk, terms_of: TermsOf) -> SparseVector:
    words = document_vector(terms_of(chunk.lexical_text, chunk.language))
    defined = defined_terms(chunk.passages, chunk.language, terms_of)
    return _with_definitions(words, defined | heading_targets(chunk, terms_of))


def document_vector(terms: Sequence[int]) -> SparseVector:
    """Return the BM25 weight of each term; the index multiplies in the document frequency.

    It is `tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))`.
    """
    damping = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_LENGTH)
    counts = Counter(terms)
    weights = {tf: tf * (_K1 + 1) / (tf + damping) for tf in set(counts.values())}
    ids = sorted(counts)
    return SparseVector(tuple(ids), tuple([weights[counts[one]] for one in ids]))


def _with_definitions(words: SparseVector, defined: Collection[tuple[int, ...]]) -> SparseVector:
    ids = tuple({definition_id(terms) for terms in defined})
    return blend(words, [(SparseVector(ids, (_DEFINITION,) * len(ids)), 1.0)])
