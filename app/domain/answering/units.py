"""Quotable units of a paragraph, by which it is scored, marked and cited."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from app.domain.chunking.chunk import Passage
from app.domain.definitions import only_refers
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import is_fence_or_table, table_rows, whole_lines
from app.domain.languages import in_any
from app.domain.retrieval.query import ContextPassage
from app.domain.scripts import word_count
from app.domain.terms import COLONS, QUESTION_MARKS, SENTENCE_END, has_sentence

SplitSentences: TypeAlias = Callable[[str, str], Sequence[Span]]
"""(text, ISO 639-1 code) -> half-open spans of its sentences."""

WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY})
"""Kinds that a citation quotes as one unit."""
INTRODUCING = (*COLONS, *QUESTION_MARKS)
"""Endings of a text that introduces the next one."""
NEVER_QUOTED = frozenset({BlockKind.HEADING, BlockKind.EXERCISE, BlockKind.SOLUTION})
"""Exercises state nothing; solutions are shown only on request."""
LEAST_TEXT = 0.6
"""Minimum share of text in a list's source, in characters. A list below it consists of links, as do
all 24 such lists among the hits of the students' development questions."""
MAX_UNIT_WORDS = 250
"""Longer listings are not quoted; readers find them next to a cited paragraph."""
LONG_WORDS = 60
"""Longer sentences are split, and glossary entries with more words into sentences."""
_CACHED_PASSAGES = 4_096
"""Passages in the cache: many questions retrieve the same ones."""

_JOINT = re.compile(r"(?<=[;.!?])(?<!\b[^\W\d_]\.)[ \t]+|\s*\n\s*")
"""Where a sentence that is too long is split; not after the full stop of an initial."""
_FILE = re.compile(r"(?:[\w-][\w.-]*/)+[\w.-]+\.\w+\s*")
"""The whole text of a listing that includes a file which could not be read."""
_MARKER = re.compile(r"(?P<indent>[ \t]*)(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+")
ASKS_OBJECTIVES = in_any("asks_objectives").replace("|", " ")
_SENDS = re.compile(rf"(?:{in_any('sends')})", re.IGNORECASE)
_OBJECTIVES = re.compile(rf"\b(?:{in_any('objectives')})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Unit:
    """`source.passage.text[start:end]`: a sentence or several, a list item, table row or block."""

    source: ContextPassage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.passage.text[self.start : self.end]

    @property
    def kind(self) -> BlockKind:
        return self.source.passage.kind

    @property
    def size(self) -> int:
        """Number of words."""
        return word_count(self.text)


def whole_unit(source: ContextPassage) -> Unit:
    """Return the paragraph as one unit."""
    return Unit(source, 0, len(source.passage.text))


def units_of(
    source: ContextPassage, split_sentences: SplitSentences, language: str
) -> Sequence[Unit]:
    """Return the units of the paragraph; none if it may not be shown."""
    return [Unit(source, *span) for span in _quotable(source.passage, split_sentences, language)]


@lru_cache(_CACHED_PASSAGES)
def _quotable(passage: Passage, split_sentences: SplitSentences, language: str) -> Sequence[Span]:
    if not is_quotable(passage):
        return ()
    return [
        (start, end)
        for start, end in _spans(passage, split_sentences, language)
        if 0 < word_count(passage.text[start:end]) <= MAX_UNIT_WORDS
    ]


def is_quotable(passage: Passage) -> bool:
    """Whether the paragraph may be shown.

    Not shown: headings, exercises, solutions, references, captions without a sentence, lists of
    links, glossary entries that only refer to another one, listings of more than `MAX_UNIT_WORDS`
    or of which the reading has only the file's name.
    """
    kind, text = passage.kind, passage.text
    if kind is BlockKind.FIGURE and not has_sentence(text):
        return False
    if kind in NEVER_QUOTED or kind is BlockKind.REFERENCE or only_refers(passage):
        return False
    if kind in (BlockKind.CODE, BlockKind.MATH) and word_count(text) > MAX_UNIT_WORDS:
        return False
    if kind is BlockKind.CODE and _FILE.fullmatch(text):
        return False
    linked = kind is BlockKind.LIST and len(text) < LEAST_TEXT * (passage.end - passage.start)
    return not linked


def _spans(passage: Passage, split_sentences: SplitSentences, language: str) -> Iterable[Span]:
    text, kind = passage.text, passage.kind
    whole = [(0, len(text))]
    if kind is BlockKind.TABLE:
        return table_rows(text)[1] or whole
    if kind is BlockKind.LIST:
        return list_items(text)
    entry = kind is BlockKind.GLOSSARY_ENTRY
    if kind in (BlockKind.CODE, BlockKind.MATH) or (entry and word_count(text) <= LONG_WORDS):
        return whole
    found = [*sentences_and_fences(text, split_sentences, language)]
    if entry:  # a signature or listing in it is not quoted alone
        found = [one for one in found if not one[1]] or found
    spans = ([span] if is_whole else _pieces(text, span) for span, is_whole in found)
    return chain.from_iterable(spans)


def sentences_and_fences(
    text: str, split_sentences: SplitSentences, language: str
) -> Iterator[tuple[Span, bool]]:
    """Yield the sentences, and each fence or table as one, for which the second value is true."""
    start = at = 0
    for line in (*whole_lines(text), ""):
        if not line or is_fence_or_table(line):
            for first, last in split_sentences(text[start:at], language) if at > start else ():
                yield (start + first, start + last), False
            start = at + len(line)
        if is_fence_or_table(line):
            yield (at, at + len(line.rstrip())), True
        at += len(line)


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    """Split a sentence that is too long at semicolons and line ends."""
    start, end = sentence
    if word_count(text[start:end]) > LONG_WORDS:
        for joint in _JOINT.finditer(text, start, end):
            yield start, joint.start()
            start = joint.end()
    yield start, end


def list_items(text: str) -> Iterator[Span]:
    """Yield the spans of the top-level items without markers; nested items stay inside."""
    starts, ends, at = [0], list[int](), 0
    indent: int | None = None
    for line in whole_lines(text):
        marker = _MARKER.match(line)
        if marker and (indent is None or len(marker["indent"]) <= indent):
            indent = len(marker["indent"])
            ends.append(at)
            starts.append(at + marker.end())
        at += len(line)
    for start, end in zip(starts, [*ends, at], strict=True):
        if item := text[start:end].rstrip():
            yield start, start + len(item)


def only_sends(text: str) -> bool:
    """Whether it is one sentence that sends elsewhere, maybe below a label: "Watch this ..."."""
    return bool(_SENDS.match(text.rpartition("\n")[2])) and len(SENTENCE_END.findall(text)) == 1


def announces(passage: Passage) -> bool:
    """Whether the text introduces the next one."""
    return passage.kind not in WHOLE and passage.text.rstrip().endswith(INTRODUCING)


def states_objectives(passage: Passage, before: Passage | None) -> bool:
    """Whether the paragraph says what the reader will learn: "you will be able to: ...".

    `before` is the paragraph before it, which may announce a list.
    """
    text = passage.text.strip()
    titled = passage.kind is BlockKind.ADMONITION and _OBJECTIVES.match(text)
    headed = any(map(names_objectives, passage.heading_path[-1:]))
    texts = [text, before.text if before and passage.kind is BlockKind.LIST else ""]
    announced = any(one.rstrip().endswith(":") and names_objectives(one) for one in texts)
    return bool(headed or titled or announced)


def names_objectives(heading: str) -> bool:
    """Whether a section with this heading states objectives."""
    return _OBJECTIVES.search(heading) is not None
