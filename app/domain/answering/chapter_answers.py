"""Answers to requests for a chapter, made of parts of it: a summary, an outline, exercises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

from app.domain.answer import AnswerPassage
from app.domain.answering.extractive import ExtractiveAnswer
from app.domain.answering.passage_text import quoted_text, shown_passage
from app.domain.answering.units import (
    INTRODUCING,
    SplitSentences,
    Unit,
    ends_sentence,
    units,
    whole_unit,
)
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage

MAX_SUMMARY_WORDS = 250
"""Limit on the words of a chapter's own summary, unless its first block has more."""
_TASKS = frozenset({BlockKind.EXERCISE, BlockKind.HEADING})

Excerpt: TypeAlias = Sequence[Unit]
"""Adjacent units of a section: whole blocks, or a sentence."""


def leading(sections: Sequence[Sequence[ContextPassage]]) -> list[Excerpt]:
    """Return the first blocks of each section; each has an equal share of `MAX_SUMMARY_WORDS`.

    The units refer to the sections' paragraphs in one sequence.
    """
    share = MAX_SUMMARY_WORDS // len(sections)
    excerpts: list[Excerpt] = []
    first = 0
    for section in sections:
        blocks = [whole_unit(first + at, one) for at, one in enumerate(section)]
        fitting = sum(size <= share for size in accumulate(unit.size for unit in blocks))
        while fitting and blocks[fitting - 1].text.endswith(INTRODUCING):
            fitting -= 1
        excerpts.append(blocks[: max(fitting, 1)])
        first += len(section)
    return excerpts


def first_sentences(
    sections: Sequence[Sequence[ContextPassage]], split_sentences: SplitSentences, language: str
) -> list[Excerpt]:
    """Return the first sentence of each section.

    A sentence that introduces a formula or list is skipped: alone it is incomplete. The units refer
    to the sections' paragraphs in one sequence.
    """
    context = [one for section in sections for one in section]
    excerpts: list[Excerpt] = []
    first = 0
    for section in sections:
        places = range(first, first := first + len(section))
        found = [*units(context, split_sentences, language, places)]
        whole = (one for one in found if ends_sentence(one.text))
        others = (one for one in found if not one.text.endswith(INTRODUCING))
        if unit := next(whole, None) or next(others, None):
            excerpts.append([unit])
    return excerpts


def whole_blocks(context: Sequence[ContextPassage]) -> list[Excerpt]:
    """Return one excerpt for each paragraph."""
    return [[whole_unit(at, one)] for at, one in enumerate(context)]


def quoted(excerpts: Sequence[Excerpt], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    """Return the excerpts as an answer; if there are several, each follows its heading."""
    text = ""
    claims: list[tuple[Span, Unit]] = []
    passages: list[AnswerPassage] = []
    for excerpt in excerpts:
        part, spans = quoted_text(excerpt, context)
        first = context[excerpt[0].passage]
        text += "\n\n" if text else ""
        if len(excerpts) > 1 and first.passage.kind not in _TASKS:
            text += f"{_title(first)}\n\n"
        claims += [((len(text) + start, len(text) + end), unit) for (start, end), unit in spans]
        text += part
        # Without marks, since all of it is the answer.
        passages.append(shown_passage(part, [context[unit.passage] for unit in excerpt], first))
    return ExtractiveAnswer(text, tuple(claims), tuple(passages))


def asked_terms(entries: Sequence[ContextPassage], question: str) -> ExtractiveAnswer:
    """Turn glossary entries into questions: `question` has {} for the term.

    The answer quotes the terms only. It has no passages, since they would show the definitions.
    """
    before, _, after = question.partition("{}")
    text = ""
    claims: list[tuple[Span, Unit]] = []
    for at, one in enumerate(entries):
        passage = one.passage
        term = next((term for term in passage.terms if term in passage.text), "")
        if term:
            start = passage.text.index(term)
            text += f"\n- {before}" if text else f"- {before}"
            unit = Unit(at, start, start + len(term), passage.kind, term)
            claims.append(((len(text), len(text) + len(term)), unit))
            text += f"{term}{after}"
    return ExtractiveAnswer(text, tuple(claims))


def _title(one: ContextPassage) -> str:
    """Return page title and section title, because pages may have sections of the same title."""
    path = one.passage.heading_path
    return " \u203a ".join(dict.fromkeys((*path[:1], *path[-1:])))
