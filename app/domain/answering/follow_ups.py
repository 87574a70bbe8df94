"""Suggests follow-up questions about terms and sections near the hits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from app.domain.answering.definitions import has_defining_sentence, names_term
from app.domain.answering.exercises import TASKS
from app.domain.answering.notices import SECTION_QUESTION, TERM_QUESTION, in_language
from app.domain.answering.objectives import names_objectives
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.invisible_characters import without_invisible
from app.domain.retrieval.query import Hit
from app.domain.terms import Terms

MAX_SUGGESTIONS = 3

_LONGEST = 80  # characters of a term or heading
_SAME = 0.6
"""Share of a subject's terms above which it counts as already asked about."""
_MIN_HEADING_TERMS = 2
"""Minimum number of terms of a heading: "Summary" and "Exercises" name no subject."""
_AFTER_LABEL = re.compile(r"\W{0,3}(?::|[\u2013\u2014]|\s-\s)\s*(\w+)")
_BEGIN_DEFINITIONS = frozenset(
    "a an the any one when how what un una el la le eine ein der die das um uma".split()
)
_ENDINGS = " \t:;,.\"'\u201c\u201d*"
_LONGEST_TERM = 5  # words
_NO_SUBJECT = re.compile(
    r"^(?:(?:review|discussion|practice) questions?|critical thinking|free response"
    r"|(?:exercise|problem|question|quiz|solution)(?:s|zes)?(?: \d[\d.]*\w?)?"
    r"|(?:\S+ )?(?:exercise|quiz)(?:s|zes)?(?::.*)?"
    r"|test your (?:knowledge|understanding)|check your (?:understanding|answers)"
    r"|(?:key|new) (?:terms?|concepts?|ideas?)|(?:section|chapter|lesson) (?:summary|goals|review)"
    r"|further (?:reading|resources|information)|what you.ve learned|what.s next|next steps"
    r"|table of contents|see also|faqs?|frequently asked questions|tl;?dr)$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:notes?|n\.?b\.?|remarks?|tips?|hints?|warnings?|caution|danger|important|info|examples?"
    r"|exercises?|questions?|answers?|solutions?|problems?|proof|theorem|lemma|definition|summary"
    r"|step|figure|table|listing|chapter|section|part|todo|update|result|output|input|pros?|cons?)"
    r"(?: \d[\d.]*)?",
    re.IGNORECASE,
)
"""Labels such as "Note: ...", which name the kind of a paragraph and not its subject."""
_NUMBER = re.compile(r"^(?:[^\W\d]+\s+)?\d+(?:(?:\.\d+)+[.:)]?|[.:)])\s+")


def suggestions(
    asked: frozenset[int], hits: Sequence[Hit], terms: Terms, language: str
) -> Iterator[str]:
    """Yield distinct questions about terms defined in the hits and about their sections.

    Those of the best hits come first. Subjects of the reader's question, whose terms are `asked`,
    are left out. The questions are worded in `language`, with the book's terms.
    """
    seen = [asked]
    for hit in hits:
        for subject, template, marked in _subjects(hit.chunk, terms):
            about = terms(subject)
            if len(subject) > _LONGEST or not about or _is_covered(about, seen):
                continue
            if marked and not _explained(about, marked, terms):
                continue
            seen.append(about)
            asks = subject.endswith("?")
            question = subject if asks else in_language(template, language).format(subject)
            yield without_invisible(question)


def _is_covered(about: frozenset[int], seen: Iterable[frozenset[int]]) -> bool:
    """Whether one of the subjects seen has more than the share `_SAME` of these terms."""
    return any(len(about & one) > _SAME * len(about) for one in seen)


def _subjects(chunk: Chunk, terms: Terms) -> Iterator[tuple[str, dict[str, str], Passage | None]]:
    """Yield subject, wording of the question, and the passage that marks the subject as a term."""
    for passage in chunk.passages:
        for marked in passage.terms if passage.kind not in TASKS else ():
            term = " ".join(marked.split()).strip(_ENDINGS)
            short = len(term.split()) <= _LONGEST_TERM
            if short and not _is_label(term, passage, chunk.language):
                yield term, TERM_QUESTION, passage
    for heading in chunk.heading_path[-1:]:
        subject = _NUMBER.sub("", " ".join(heading.split()))
        none = _NO_SUBJECT.match(subject) or names_objectives(subject)
        if len(terms(subject)) >= _MIN_HEADING_TERMS and not none:
            yield subject, SECTION_QUESTION, None


def _explained(about: frozenset[int], passage: Passage, terms: Terms) -> bool:
    """Whether the passage defines the marked term: authors mark words for emphasis, too."""
    if passage.kind is BlockKind.GLOSSARY_ENTRY:
        return True
    return names_term(about, passage.text, terms) or has_defining_sentence(
        passage.text, about, terms
    )


def _is_label(term: str, passage: Passage, language: str) -> bool:
    """Whether the mark is a label of the paragraph, "Note: ...", or no definition follows it.

    "Speed: Twice that of ..." is recognised by the capital, so not in German.
    """
    if _LABEL.fullmatch(term):
        return True
    if language == "de" or passage.kind is BlockKind.GLOSSARY_ENTRY:
        return False
    at = passage.text.find(term)
    match = _AFTER_LABEL.match(passage.text, at + len(term)) if at >= 0 else None
    return bool(match and match[1][0].isupper() and match[1].lower() not in _BEGIN_DEFINITIONS)
