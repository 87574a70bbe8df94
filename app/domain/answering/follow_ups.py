"""Suggests questions that the sections near the hits answer."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.domain.answering.exercises import TASKS
from app.domain.answering.units import names_objectives
from app.domain.characters import without_invisible
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.definitions import names_term, subject_match
from app.domain.document import BlockKind
from app.domain.languages import in_any, known_language, notices
from app.domain.retrieval.query import Hit
from app.domain.terms import QUESTION_MARKS, Terms, sentences

MAX_SUGGESTIONS = 3

_LONGEST = 80  # characters of a term or heading
_LONGEST_EXERCISE = 120  # characters
_SAME = 0.6
"""Share of a subject's terms above which it counts as already asked about."""
_LONGEST_TERM = 5  # words
_LONGEST_HEADING = 3
"""Maximum number of words of a heading that is a term."""
_ENDINGS = " \t:;,.\"'\u201c\u201d*"
_LEADING_ARTICLE = re.compile(r"^(?:the|an?) ")
_LABEL = re.compile(rf"(?:{in_any('labels')})|.* \d[\d.]*|\W.*", re.IGNORECASE)
"""Marked texts that name the kind of a paragraph and not its subject, and those with a number."""
_REFERS = re.compile(rf"\b(?:{in_any('beside')})\b", re.IGNORECASE)
"""Words of a question that is not understood away from its page."""
_NUMBER = re.compile(r"^(?:[^\W\d]+\s+)?\d+(?:(?:\.\d+)+[.:)]?|[.:)])\s+")

_TASKS = known_language("en").tasks.split()
_TASKS_ON = known_language("en").tasks_on.split()
_ARTICLE = r"(?:an?|the|your|our|my)\s"


def _gerund(verb: str) -> str:
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|split|refer", verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb.removesuffix('e')}ing"


_BY_GERUND = {_gerund(verb): verb for verb in (*_TASKS_ON, *_TASKS)}
_GERUNDS = (
    rf"(?P<gerund>{'|'.join(map(_gerund, _TASKS))}"
    rf"|(?:{'|'.join(map(_gerund, _TASKS_ON))})(?=\s{_ARTICLE}))"
)
_IMPERATIVES = rf"(?P<verb>{'|'.join(_BY_GERUND.values())})(?=\s{_ARTICLE})"
_SEVERAL = re.compile(r"[:;]|\b(?:and|or)\s+\w+ing\b|\w+ing\s+(?:and|or)\b", re.IGNORECASE)
"""Headings with a label or two actions."""

_TITLE_CASE = re.compile(r"(?:\S{1,4}|[^a-z\s]\S*)(?:\s(?:\S{1,4}|[^a-z\s]\S*))*")
_TO_DO = re.compile(
    rf"(?:{_GERUNDS}|how\sto\s(?P<how>\w+)|{_IMPERATIVES})\s(?P<rest>.+)", re.IGNORECASE
)


class Suggestion(NamedTuple):
    question: str
    passage: Passage
    """The one that answers it, or the first of its section."""


def suggestions(
    asked: frozenset[int], hits: Sequence[Hit], terms: Terms, language: str
) -> Iterator[Suggestion]:
    """Yield distinct questions that the sections of the hits answer.

    They are made of headings, of the terms defined there, and of exercises. Those of the best hits
    come first. Subjects of the reader's question, whose terms are `asked`, are left out. The
    questions are worded in `language`, with the book's terms.
    """
    seen = [asked]
    for hit in hits:
        for subject, question, passage in _questions(hit.chunk, terms, language):
            about = terms(subject)
            covered = any(len(about & one) > _SAME * len(about) for one in seen)
            if about and not covered and not _REFERS.search(question):
                seen.append(about)
                yield Suggestion(without_invisible(question), passage)


def _questions(chunk: Chunk, terms: Terms, language: str) -> Iterator[tuple[str, str, Passage]]:
    """Yield each subject with its question and where it is answered."""
    for heading in chunk.heading_path[-1:]:
        subject = _NUMBER.sub("", " ".join(heading.split()))
        if question := _of_heading(subject, chunk, terms, language):
            first = (one for one in chunk.passages if one.paragraph_id == chunk.paragraph_id)
            yield subject, question, next(first, chunk.passages[0])
    for passage in chunk.passages:
        if passage.kind not in TASKS:
            for term in _defined_terms(passage, terms):
                yield term, notices(language).term_question.format(term), passage
    for passage in chunk.passages:
        text = " ".join(passage.text.split())
        asks = text.endswith(QUESTION_MARKS) and len(text) <= _LONGEST_EXERCISE
        one = asks and sentences(text) == [text] and not re.search(r"[:\]]\s", text)
        if passage.kind is BlockKind.EXERCISE and one:
            yield text, text, passage


def _of_heading(heading: str, chunk: Chunk, terms: Terms, language: str) -> str:
    """Return the question that a heading without its number makes with the text below it, or "".

    "Why not index whole chapters?" is one. In English so are "How to choose a size" and "Building
    the index". A heading that is a term defined below it asks for its meaning.
    """
    below = [p.text for p in chunk.passages if p.kind not in (BlockKind.HEADING, BlockKind.CODE)]
    text, english = "\n".join(below), chunk.language == "en"
    if len(heading) > _LONGEST or names_objectives(heading):
        return ""
    if heading.endswith(QUESTION_MARKS):
        return "" if english and heading.endswith(" ?") else heading
    to_do = _TO_DO.fullmatch(heading) if english and not _SEVERAL.search(heading) else None
    if to_do:
        verb = _BY_GERUND.get((to_do["gerund"] or "").lower()) or to_do["how"] or to_do["verb"]
        asked = f"How do I {verb.lower()} {_sentence_case(to_do['rest'], text)}?"
        return re.sub(r"\byour\b", "my", asked)
    subject = _sentence_case(heading, text) if english else heading
    short = len(heading.split()) <= _LONGEST_HEADING
    if short and any(_defines(one, heading, terms) for one in below):
        return notices(language).term_question.format(_LEADING_ARTICLE.sub("", subject))
    return ""


def _sentence_case(heading: str, text: str) -> str:
    """Write a heading as it stands in a sentence.

    In a Title Case Heading each word loses its capital that `text` does not have only with one; in
    another heading the first word does.
    """
    said = set(re.findall(r"\b[^\W\d_][\w'\u2019-]*", re.sub(r"`[^`]*`", "", text)))

    def written(match: re.Match[str]) -> str:
        lower = match[0].lower()
        return match[0] if match[0] in said and lower not in said else lower

    begin = "" if _TITLE_CASE.fullmatch(heading) else r"\A"
    return re.sub(rf"{begin}\b(?:[A-Z][a-z'\u2019-]+(?!\w)|A(?=\s))", written, heading)


def _defined_terms(passage: Passage, terms: Terms) -> Iterator[str]:
    """Yield the marked terms that the passage defines: authors mark words for emphasis, too."""
    entry = passage.kind is BlockKind.GLOSSARY_ENTRY
    for marked in passage.terms:
        term = " ".join(marked.split()).strip(_ENDINGS)
        short = len(term.split()) <= _LONGEST_TERM and len(term) <= _LONGEST
        if short and (entry or _defines(passage.text, term, terms)):
            yield term


def _defines(text: str, term: str, terms: Terms) -> bool:
    """Whether a sentence says what the term is."""
    about = terms(term)
    if not about or _LABEL.fullmatch(term):
        return False
    subjects = (subject_match(about, one, terms) for one in sentences(text))
    return names_term(about, text, terms) or any(one == 1.0 for one in subjects)
