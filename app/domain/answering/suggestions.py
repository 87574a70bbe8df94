"""Questions that a reader may ask next: about terms and sections near what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.answering.languages import guess_language
from app.domain.answering.terms import Terms
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.retrieval.query import Hit

_LONGEST = 80  # characters of a term or heading
_TELLING_HEADING = 2
"""Terms that a heading must have: "Summary" and "Exercises" name no subject."""
_MEANS = {
    "en": 'What does "{}" mean?',
    "es": "¿Qué significa «{}»?",
    "de": "Was bedeutet „{}“?",
    "fr": "Que signifie « {} » ?",
    "pt": "O que significa «{}»?",
    "it": "Che cosa significa «{}»?",
}
_SAYS = {
    "en": 'What does the book say about "{}"?',
    "es": "¿Qué dice el libro sobre «{}»?",
    "de": "Was sagt das Buch über „{}“?",
    "fr": "Que dit le livre de « {} » ?",
    "pt": "O que diz o livro sobre «{}»?",
    "it": "Che cosa dice il libro su «{}»?",
}
_NUMBER = re.compile(r"^(?:[^\W\d]+\s+)?\d+(?:(?:\.\d+)+[.:)]?|[.:)])\s+")
_ASK_THEMSELVES = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION})


@dataclass(frozen=True, slots=True)
class Suggestion:
    question: str
    about: str
    """The book's own words in it."""


def suggestions(
    question: str, hits: Sequence[Hit], terms: Terms, language: str
) -> Iterator[Suggestion]:
    """Questions about what is defined in the hits and about their sections, nearest first.

    None about what was asked, none twice. In the question's language, around the book's words;
    `language` is the book's.
    """
    asked = guess_language(question, language)
    spoken = asked if asked in _MEANS else "en"
    seen = [terms(question)]
    for hit in hits:
        for subject, template in _subjects(hit.chunk, terms):
            about = terms(subject)
            if len(subject) > _LONGEST or not about or any(about <= one for one in seen):
                continue
            seen.append(about)
            asks = subject.endswith("?")
            yield Suggestion(subject if asks else template[spoken].format(subject), subject)


def _subjects(chunk: Chunk, terms: Terms) -> Iterator[tuple[str, dict[str, str]]]:
    for passage in chunk.passages:
        if passage.kind not in _ASK_THEMSELVES:
            yield from ((" ".join(term.split()), _MEANS) for term in passage.terms)
    for heading in chunk.heading_path[-1:]:
        subject = _NUMBER.sub("", " ".join(heading.split()))
        if len(terms(subject)) >= _TELLING_HEADING:
            yield subject, _SAYS
