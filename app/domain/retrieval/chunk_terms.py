"""A chunk as the second stage sees it: the terms of its sentences, headings and definitions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.fast_dataclass import fast_dataclass
from app.domain.retrieval.definitions import (
    QUESTION_FRAME_WORDS,
    definition_targets,
    heading_forms,
    term_forms,
)

TermsOf: TypeAlias = Callable[[str, str], Sequence[int]]
"""(text, language) -> its term ids in order, repeats kept, stop words left out."""

# Good enough to score by; never used to cut text that is shown.
# All three kinds of end begin with one character class, which is four times as fast to look for.
_SENTENCE_END = re.compile(r"[.!?。！？\n](?:(?<=[.!?])\s+|(?<=[。！？])|(?<=\n)\n*)")


@fast_dataclass(frozen=True, slots=True)
class Sentence:
    terms: tuple[int, ...]
    defines: bool
    """Whether a term that the author marks as defined stands in it."""


@fast_dataclass(frozen=True, slots=True)
class ChunkTerms:
    sentences: tuple[Sentence, ...]
    heading: tuple[int, ...]
    defined: frozenset[tuple[int, ...]]
    """Every form of every term that the author defines in the chunk."""
    glossary: frozenset[tuple[int, ...]]
    """Those of them that have an entry of the glossary in the chunk."""
    named: frozenset[tuple[int, ...]] = frozenset()
    """What the headings of the sections that begin in the chunk name."""


def chunk_terms(chunk: Chunk, terms_of: TermsOf) -> ChunkTerms:
    told: list[Sentence] = []
    defined: set[tuple[int, ...]] = set()
    glossary: set[tuple[int, ...]] = set()
    for passage in chunk.passages:
        marked = {
            tuple(terms_of(form, chunk.language))
            for term in passage.terms
            for form in term_forms(term)
        } - {()}
        defined |= marked
        if passage.kind is BlockKind.GLOSSARY_ENTRY:
            glossary |= marked
        told += [
            Sentence(terms, bool(marked) and any(map(set(terms).issuperset, marked)))
            for text in sentences(passage)
            if (terms := tuple(terms_of(text, chunk.language)))
        ]
    heading = tuple(terms_of(" ".join(chunk.heading_path), chunk.language))
    return ChunkTerms(
        tuple(told),
        heading,
        frozenset(defined),
        frozenset(glossary),
        names(chunk, terms_of),
    )


def names(chunk: Chunk, terms_of: TermsOf) -> frozenset[tuple[int, ...]]:
    """The headings of sections that begin in the chunk, without "what is" and the like."""
    headings = [one.text for one in chunk.passages if one.kind is BlockKind.HEADING]
    if not chunk.overlap_start and chunk.passages:
        # What a chunk begins with is not among its passages; it repeats nothing then.
        path = chunk.passages[0].heading_path
        headings += path if chunk.chunk_index == 0 else path[-1:]
    if not headings:
        return frozenset()
    frame_words = frozenset(terms_of(QUESTION_FRAME_WORDS.get(chunk.language, ""), chunk.language))
    return frozenset().union(
        *(
            definition_targets(terms_of(form, chunk.language), frame_words)
            for heading in headings
            for form in heading_forms(heading)
        )
    )


def sentences(passage: Passage) -> list[str]:
    """Its sentences, roughly; code is one, a heading none."""
    if passage.kind is BlockKind.HEADING:
        return []
    if passage.kind is BlockKind.CODE:
        return [passage.text]
    return _SENTENCE_END.split(passage.text)
