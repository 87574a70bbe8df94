"""Quotable units: what an extractive answer takes whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage

SplitSentences: TypeAlias = Callable[[str, str], Sequence[Span]]
"""(text, ISO 639-1 code) to the half-open spans of its sentences."""

WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY})
NEVER_QUOTED = frozenset({BlockKind.HEADING, BlockKind.EXERCISE, BlockKind.SOLUTION})
"""An exercise asks and does not tell; its solution is for those who have tried."""
MAX_UNIT_WORDS = 250
"""A longer listing or table is not quoted: the citation of its neighbours leads to it."""
LONG_SENTENCE_WORDS = 60

_JOINT = re.compile(r"(?<=[;.!?])[ \t]+|\s*\n\s*")
_MARKER = re.compile(r"(?P<indent>[ \t]*)(?P<marker>[-*+\u2022]|\d{1,3}[.)])[ \t]+")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, code block, table or glossary entry.

    `text` is `context[passage].passage.text[start:end]`.
    """

    passage: int
    start: int
    end: int
    kind: BlockKind
    text: str

    @property
    def size(self) -> int:
        """In words."""
        return len(self.text.split())


def units(
    context: Sequence[ContextPassage], split_sentences: SplitSentences, language: str
) -> Iterator[Unit]:
    """All units of the context, in its order."""
    for at, one in enumerate(context):
        passage = one.passage
        if passage.kind in NEVER_QUOTED:
            continue
        if passage.kind in WHOLE:
            spans: Sequence[Span] = [(0, len(passage.text))]
        elif passage.kind is BlockKind.LIST:
            spans = list(list_items(passage.text))
        else:
            found = split_sentences(passage.text, language)
            spans = [piece for span in found for piece in _pieces(passage.text, span)]
        for start, end in spans:
            unit = Unit(at, start, end, passage.kind, passage.text[start:end])
            if 0 < unit.size <= MAX_UNIT_WORDS:
                yield unit


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    """Cut at semicolons and line ends what is too long to be one sentence of an answer."""
    start, end = sentence
    if len(text[start:end].split()) > LONG_SENTENCE_WORDS:
        for joint in _JOINT.finditer(text, start, end):
            yield start, joint.start()
            start = joint.end()
    yield start, end


def list_items(text: str) -> Iterator[Span]:
    """Spans of a list's top-level items without their markers; nested items stay inside."""
    start = at = 0
    indent: int | None = None
    for line in text.splitlines(keepends=True):
        marker = _MARKER.match(line)
        if marker and (indent is None or len(marker["indent"]) <= indent):
            yield from _item(text, start, at)
            indent = len(marker["indent"])
            start = at + marker.end()
        at += len(line)
    yield from _item(text, start, at)


def _item(text: str, start: int, end: int) -> Iterator[Span]:
    item = text[start:end].rstrip()
    if item.strip():
        yield start, start + len(item)


def marker_before(text: str, start: int) -> str:
    """The marker of the list item that begins at `start`: its number, else "-"."""
    number = re.search(r"(\d{1,3}[.)])[ \t]+$", text[:start])
    return number[1] if number else "-"
