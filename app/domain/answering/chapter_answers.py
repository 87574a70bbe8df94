"""Answers to requests for a chapter, made of parts of it: a summary, an outline, exercises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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

MAX_EXCERPT_WORDS = 250
"""Limit on the words of all excerpts of a chapter, unless the first unit of each has more."""


Excerpt: TypeAlias = Sequence[Unit]
"""Adjacent units of a section: whole blocks, or the first sentences of one."""


def leading(
    sections: Sequence[Sequence[ContextPassage]], split_sentences: SplitSentences, language: str
) -> tuple[list[ContextPassage], list[Excerpt]]:
    """Return the context and the beginning of each section, together `MAX_EXCERPT_WORDS` at most.

    Each section has an equal share of the words: whole blocks, or if none fits, the first sentences
    or items of the first block.
    """
    context = [one for section in sections for one in section]
    left = MAX_EXCERPT_WORDS
    excerpts: list[Excerpt] = []
    first = 0
    for at, section in enumerate(sections):
        places = range(first, first := first + len(section))
        share = left // (len(sections) - at)
        blocks = [whole_unit(place, context[place]) for place in places]
        parts = [*units(context, split_sentences, language, places[:1])]
        chosen = _beginning(blocks, share) or _beginning(parts, share) or blocks[:1]
        left -= sum(unit.size for unit in chosen)
        excerpts.append(chosen)
    return context, excerpts


def _beginning(found: Sequence[Unit], share: int) -> list[Unit]:
    """Return the first units with at most `share` words, without those that introduce the next."""
    sizes = accumulate(unit.size for unit in found)
    end = sum(size <= share for size in sizes)
    while end and found[end - 1].text.endswith(INTRODUCING):
        end -= 1
    return [*found[:end]]


def first_sentences(
    sections: Sequence[Sequence[ContextPassage]], split_sentences: SplitSentences, language: str
) -> tuple[list[ContextPassage], list[Excerpt]]:
    """Return the first sentence of each section, at most `MAX_EXCERPT_WORDS` words together.

    A section is its heading and its paragraphs. Of the sections after that, one excerpt lists the
    headings. A sentence that introduces a formula or list is skipped: alone it is incomplete.
    """
    context: list[ContextPassage] = []
    excerpts: list[Excerpt] = []
    headings: list[Unit] = []
    left = MAX_EXCERPT_WORDS
    for heading, *paragraphs in sections:
        unit = _first_sentence([*units(paragraphs, split_sentences, language)])
        if unit is None:
            continue
        left -= unit.size
        if left >= 0 or not excerpts:
            excerpts.append([replace(unit, passage=len(context) + unit.passage)])
        else:
            title = heading.passage.text
            headings.append(Unit(len(context), 0, len(title), BlockKind.LIST, title))
            context.append(heading)
        context += paragraphs
    return context, [*excerpts, headings] if headings else excerpts


def _first_sentence(found: Sequence[Unit]) -> Unit | None:
    """Return the first unit that is a sentence, else the first that introduces nothing."""
    return next(
        (one for one in found if ends_sentence(one.text)),
        next((one for one in found if not one.text.endswith(INTRODUCING)), None),
    )


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


def asked_terms(
    entries: Sequence[ContextPassage], question: str
) -> tuple[list[ContextPassage], ExtractiveAnswer]:
    """Turn glossary entries into questions: `question` has {} for the term.

    The answer quotes the terms only. It has no passages, since they would show the definitions.
    """
    before, _, after = question.partition("{}")
    context: list[ContextPassage] = []
    text = ""
    claims: list[tuple[Span, Unit]] = []
    for one in entries:
        passage = one.passage
        term = next((term for term in passage.terms if term in passage.text), "")
        if not term:
            continue
        start = passage.text.index(term)
        unit = Unit(len(context), start, start + len(term), passage.kind, term)
        context.append(one)
        text += "\n- " if text else "- "
        text += before
        claims.append(((len(text), len(text) + len(term)), unit))
        text += f"{term}{after}"
    return context, ExtractiveAnswer(text, tuple(claims))


_TASKS = frozenset({BlockKind.EXERCISE, BlockKind.HEADING})


def _title(one: ContextPassage) -> str:
    """Return page title and section title, because pages may have sections of the same title."""
    path = one.passage.heading_path
    return " \u203a ".join(dict.fromkeys((*path[:1], *path[-1:])))
