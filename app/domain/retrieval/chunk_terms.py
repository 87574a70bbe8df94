"""Terms of a chunk's sentences, headings and definitions, for the feature reranker."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.definitions import definition_targets, heading_forms, term_forms
from app.domain.document import BlockKind
from app.domain.languages import known_language
from app.domain.terms import sentences

TermsOf: TypeAlias = Callable[[str, str], list[int]]
"""(text, language) -> term ids in order, with repeats and without stop words."""

_NO_SENTENCES = (BlockKind.HEADING, BlockKind.CODE)


@dataclass(frozen=True, slots=True)
class Sentence:
    terms: tuple[int, ...]
    defines: bool
    """Whether it contains a term that the author marks as defined."""


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    terms: frozenset[int]
    """All terms, those of the headings and of listings included."""
    sentences: tuple[Sentence, ...]
    heading: tuple[int, ...]
    defined: frozenset[tuple[int, ...]]
    """All forms of the terms that the author defines in the chunk."""
    headed: frozenset[tuple[int, ...]] = frozenset()
    """Terms named by the headings of sections that begin in the chunk."""


def chunk_terms(chunk: Chunk, terms_of: TermsOf) -> ChunkTerms:
    found: list[Sentence] = []
    defined: set[tuple[int, ...]] = set()
    for passage in chunk.own_passages:
        marked = defined_terms([passage], chunk.language, terms_of)
        defined |= marked
        found += [
            Sentence(terms, bool(marked) and any(map(set(terms).issuperset, marked)))
            for text in _sentences(passage)
            if (terms := tuple(terms_of(text, chunk.language)))
        ]
    heading = tuple(terms_of(" ".join(chunk.heading_path), chunk.language))
    others = "\n".join(one.text for one in chunk.own_passages if one.kind in _NO_SENTENCES)
    every = (*(one.terms for one in found), terms_of(others, chunk.language))
    return ChunkTerms(
        frozenset(heading).union(*every),
        tuple(found),
        heading,
        frozenset(defined),
        heading_targets(chunk, terms_of),
    )


def defined_terms(
    passages: Iterable[Passage], language: str, terms_of: TermsOf
) -> set[tuple[int, ...]]:
    """Return all forms of the terms that the author defines in the passages."""
    forms = {form for one in passages for term in one.terms for form in term_forms(term)}
    return {tuple(terms_of(form, language)) for form in forms} - {()}


def heading_targets(chunk: Chunk, terms_of: TermsOf) -> frozenset[tuple[int, ...]]:
    """Return the terms in headings of sections that begin here, without question-frame words."""
    headings = [one.text for one in chunk.passages if one.kind is BlockKind.HEADING]
    own = chunk.own_passages
    if own and (not chunk.overlap_start or len(own) < len(chunk.passages)):
        # Headings above the first passage are in its path only.
        path = own[0].heading_path
        headings += path if chunk.chunk_index == 0 else path[-1:]
    if not headings:
        return frozenset()
    frame_words = frozenset(terms_of(known_language(chunk.language).frame, chunk.language))
    return frozenset().union(
        *(
            definition_targets(terms_of(form, chunk.language), frame_words)
            for heading in headings
            for form in heading_forms(heading)
        )
    )


def _sentences(passage: Passage) -> list[str]:
    """Return the sentences; headings and code have none.

    A listing as one sentence would hold more of a question's words than any sentence of prose.
    """
    return [] if passage.kind in _NO_SENTENCES else sentences(passage.text)
