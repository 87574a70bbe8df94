"""Suggests questions that the sections near the hits answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from app.domain.answering.definitions import has_defining_sentence, names_term
from app.domain.answering.exercises import TASKS
from app.domain.answering.heading_questions import heading_question, sentence_case
from app.domain.answering.notices import DIFFERENCE_QUESTION, TERM_QUESTION, in_language
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
_AFTER_LABEL = re.compile(r"\W{0,3}(?::|[\u2013\u2014]|\s-\s)\s*(\w+)")
_BEGIN_DEFINITIONS = frozenset(
    "a an the any one when how what un una el la le eine ein der die das um uma".split()
)
_ENDINGS = " \t:;,.\"'\u201c\u201d*"
_LONGEST_TERM = 5  # words
_LONGEST_HEADING = 3
"""Maximum number of words of a heading that is a term."""
_LONGEST_EXERCISE = 120  # characters
_VERSUS = re.compile(r"([^:;]+?)\s+(?:vs\.?|versus)\s+([^:;]+)", re.IGNORECASE)
_AND = re.compile(r"(\w+)\s(?:and|und|y|e|et)\s(\w+(?:\s\w+)?)", re.IGNORECASE)
_LEADING_ARTICLE = re.compile(r"^(?:the|an?) ")
_COMPARES = re.compile(
    r"\b(?:differ|unlike|whereas|in contrast|mientras que|während|unterschied|diferen|différen)",
    re.IGNORECASE,
)
"""The beginnings of words of a sentence that compares."""
_LABEL = re.compile(r"\W{0,3}(?::|[\u2013\u2014]|\s-\s)\s*(\w+)")
_BEGIN_DEFINITIONS = frozenset(
    "a an the any one when how what un una el la le eine ein der die das um uma".split()
)
_ENDINGS = " \t:;,.\"'\u201c\u201d*"
_LONGEST_TERM = 5  # words
_LONGEST_HEADING = 3
"""Maximum number of words of a heading that is a term."""
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
_SENTENCE_END = re.compile(r"(?<=[.?!])\s")
_NUMBER = re.compile(r"^(?:[^\W\d]+\s+)?\d+(?:(?:\.\d+)+[.:)]?|[.:)])\s+")


def suggestions(
    asked: frozenset[int], hits: Sequence[Hit], terms: Terms, language: str
) -> Iterator[str]:
    """Yield distinct questions that the sections of the hits answer.

    They are made of headings, of the terms defined there, and of exercises. Those of the best hits
    come first. Subjects of the reader's question, whose terms are `asked`, are left out. The
    questions are worded in `language`, with the book's terms.
    """
    seen = [asked]
    for hit in hits:
        for subject, question in _questions(hit.chunk, terms, language):
            about = terms(subject)
            if about and not _is_covered(about, seen):
                seen.append(about)
                yield without_invisible(question)


def _is_covered(about: frozenset[int], seen: Iterable[frozenset[int]]) -> bool:
    """Whether one of the subjects seen has more than the share `_SAME` of these terms."""
    return any(len(about & one) > _SAME * len(about) for one in seen)


def _questions(chunk: Chunk, terms: Terms, language: str) -> Iterator[tuple[str, str]]:
    """Yield each subject with its question."""
    for heading in chunk.heading_path[-1:]:
        subject = _NUMBER.sub("", " ".join(heading.split()))
        if question := _of_heading(subject, chunk, terms, language):
            yield subject, question
    for passage in chunk.passages:
        if passage.kind not in TASKS:
            for term in _defined_terms(passage, chunk.language, terms):
                yield term, in_language(TERM_QUESTION, language).format(term)
    for passage in chunk.passages:
        text = " ".join(passage.text.split())
        if passage.kind is BlockKind.EXERCISE and _is_question(text):
            yield text, text


def _is_question(exercise: str) -> bool:
    one = not re.search(r"[.?!:\]]\s", exercise)
    return one and exercise.endswith("?") and len(exercise) <= _LONGEST_EXERCISE


def _of_heading(heading: str, chunk: Chunk, terms: Terms, language: str) -> str:
    """Return the question that a heading makes with the text below it, or ""."""
    below = [p.text for p in chunk.passages if p.kind not in (BlockKind.HEADING, BlockKind.CODE)]
    text = "\n".join(below)
    if len(heading) > _LONGEST or names_objectives(heading) or _LABEL.fullmatch(heading):
        return ""
    if question := heading_question(heading, chunk.language, text):
        return question
    subject = sentence_case(heading, text) if chunk.language == "en" else heading
    if compared := _compared(subject, below, terms):
        return in_language(DIFFERENCE_QUESTION, language).format(*compared)
    short = len(heading.split()) <= _LONGEST_HEADING
    if short and any(_defines(one, terms(heading), terms) for one in below):
        return in_language(TERM_QUESTION, language).format(_LEADING_ARTICLE.sub("", subject))
    return ""


def _compared(heading: str, below: Iterable[str], terms: Terms) -> tuple[str, ...]:
    """Return the two things that the section compares, or ().

    They are those of "X versus Y"; of "X and Y" if a sentence that compares has both.
    """
    if match := _VERSUS.fullmatch(heading):
        return match.groups()
    match = _AND.fullmatch(heading)
    sides = match.groups() if match else ()
    both = terms(" ".join(sides))
    sentences = (one for text in below for one in _SENTENCE_END.split(text))
    compares = any(_COMPARES.search(one) and both <= terms(one) for one in sentences)
    return sides if both and compares else ()


def _defined_terms(passage: Passage, language: str, terms: Terms) -> Iterator[str]:
    """Yield the marked terms that the passage defines: authors mark words for emphasis, too."""
    entry = passage.kind is BlockKind.GLOSSARY_ENTRY
    for marked in passage.terms:
        term = " ".join(marked.split()).strip(_ENDINGS)
        short = len(term.split()) <= _LONGEST_TERM and len(term) <= _LONGEST
        defined = entry or _defines(passage.text, terms(term), terms)
        if short and defined and not _is_label(term, passage, language):
            yield term


def _defines(text: str, about: frozenset[int], terms: Terms) -> bool:
    return bool(about) and (
        names_term(about, text, terms) or has_defining_sentence(text, about, terms)
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
