"""BM25 vectors of chunks and questions, and the terms whose definition a question asks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.chunking.chunk import Chunk
from app.domain.languages import known_language
from app.domain.retrieval.chunk_terms import TermsOf
from app.domain.retrieval.definition_terms import definition_targets, question_targets
from app.domain.retrieval.query import SparseVector

# Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework".
_K1 = 1.2
_B = 0.75
_AVERAGE_LENGTH = 200.0
"""Usual number of terms in a chunk, stop words left out. A constant: a vector depends only on its
text, so an unchanged chunk keeps its vector."""

FINGERPRINT = f"bm25/{_K1}/{_B}/{_AVERAGE_LENGTH}"
"""Version of the encoding. Change it with every change that affects the vectors of chunks."""

MOST_TERMS = 64
"""Maximum number of terms of a long question used for rescoring, because each costs a search."""

_CLAUSE_END = re.compile(
    r"(?<=[.?!])\s+|\n|,?\s(?:and|or|und|y|et|e)\s"
    r"(?=(?:what|how|why|when|where|which|who|wie|warum|wann|welche[rsn]?|qué|cómo|cuándo|dónde"
    r"|comment|pourquoi|quand|quando|perché)\b)",
    re.IGNORECASE,
)
"""Between the questions of "what does k1 do and what happens if it is 0?"."""


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
        terms = [self.ordered_terms(one, language) for one in _CLAUSE_END.split(question)]
        of_clauses = (definition_targets(one, frame_words) for one in terms)
        whole = question_targets(self.ordered_terms(question, language), frame_words)
        return whole | dict.fromkeys(frozenset().union(*of_clauses), 1.0)


def chunk_vector(chunk: Chunk, terms_of: TermsOf) -> SparseVector:
    return document_vector(terms_of(chunk.lexical_text, chunk.language))


def document_vector(terms: Sequence[int]) -> SparseVector:
    """Return the BM25 weight of each term; the index multiplies in the document frequency.

    It is `tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))`.
    """
    damping = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_LENGTH)
    counts = Counter(terms)
    weights = {tf: tf * (_K1 + 1) / (tf + damping) for tf in set(counts.values())}
    ids = sorted(counts)
    return SparseVector(tuple(ids), tuple([weights[counts[one]] for one in ids]))
