"""Sparse vectors of chunks and questions: BM25 terms, and a term for each definition.

A thing that the author defines in a chunk, or gives a heading of its own, adds a term to the
chunk's vector; a question for just that thing has the same term. So the places that define a word
are found however often the book uses it.
"""

from __future__ import annotations

from collections.abc import Collection

from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.chunk_terms import heading_targets
from app.domain.retrieval.definition_terms import (
    QUESTION_FRAME_WORDS,
    definition_id,
    definition_targets,
    term_forms,
)
from app.domain.retrieval.query import SparseVector
from app.services.ports import SparseEncoder

FINGERPRINT = "definitions-5"
"""Changed whenever the vector of a chunk would change."""

_DEFINITION = 1.0
"""Weight of a definition in chunk and question; its rarity makes it count as a rare word does."""


def chunk_vector(chunk: Chunk, sparse: SparseEncoder) -> SparseVector:
    words = sparse.encode_document(chunk.lexical_text, chunk.language)
    forms = {form for one in chunk.passages for term in one.terms for form in term_forms(term)}
    defined = {tuple(sparse.terms(form, chunk.language)) for form in forms}
    return _with_definitions(words, defined | heading_targets(chunk, sparse.terms))


def question_vector(question: str, language: str, sparse: SparseEncoder) -> SparseVector:
    words = sparse.encode_query(question, language)
    frame_words = sparse.terms(QUESTION_FRAME_WORDS.get(language, ""), language)
    return _with_definitions(
        words, definition_targets(sparse.terms(question, language), frame_words)
    )


def _with_definitions(words: SparseVector, defined: Collection[tuple[int, ...]]) -> SparseVector:
    weights = dict.fromkeys((definition_id(terms) for terms in defined if terms), _DEFINITION)
    if not weights:
        return words
    weights.update(zip(words.indices, words.values, strict=True))
    terms = sorted(weights)
    return SparseVector(tuple(terms), tuple(weights[term] for term in terms))
