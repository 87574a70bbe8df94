"""Answers made of whole parts of the book: a summary, an outline, exercises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from app.domain.answer import AnswerPassage
from app.domain.answering.extractive import ExtractiveAnswer, whole_unit
from app.domain.answering.passage_text import quoted_text
from app.domain.answering.units import COLONS, SplitSentences, Unit, units
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage

MAX_EXCERPT_WORDS = 250
"""Limit on the words of all excerpts of a chapter, unless the first unit of each has more."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Adjacent units of a section: whole blocks, or the first sentences of one."""

    units: tuple[Unit, ...]


def leading(
    sections: Sequence[Sequence[ContextPassage]], split_sentences: SplitSentences, language: str
) -> tuple[list[ContextPassage], list[Excerpt]]:
    """Return the context and the beginning of each section, together `MAX_EXCERPT_WORDS` at most.

    Each section has an equal share of the words. It is filled with whole blocks, then with the
    first sentences or items of the next block.
    """
    context = [one for section in sections for one in section]
    left, first = MAX_EXCERPT_WORDS, 0
    excerpts: list[Excerpt] = []
    for at, section in enumerate(sections):
        share = left // (len(sections) - at)
        chosen = _leading(section, share, split_sentences, language)
        left -= sum(unit.size for unit in chosen)
        if chosen:
            excerpts.append(Excerpt(tuple(_shifted(unit, first) for unit in chosen)))
        first += len(section)
    return context, excerpts


def first_sentences(
    sections: Sequence[Sequence[ContextPassage]], split_sentences: SplitSentences, language: str
) -> tuple[list[ContextPassage], list[Excerpt]]:
    """Return the first sentence of each section, at most `MAX_EXCERPT_WORDS` words together.

    A sentence that introduces a formula or list is skipped: alone it is incomplete.
    """
    context = [one for section in sections for one in section]
    left, first = MAX_EXCERPT_WORDS, 0
    excerpts: list[Excerpt] = []
    for section in sections:
        found = units(section, split_sentences, language)
        unit = next((one for one in found if not one.text.endswith(COLONS)), None)
        left -= unit.size if unit else 0
        if left < 0 < len(excerpts):
            break
        if unit:
            excerpts.append(Excerpt((_shifted(unit, first),)))
        first += len(section)
    return context, excerpts


def whole_blocks(context: Sequence[ContextPassage]) -> list[Excerpt]:
    """Return one excerpt for each paragraph."""
    return [Excerpt((whole_unit(at, one),)) for at, one in enumerate(context)]


def quoted(excerpts: Sequence[Excerpt], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    """Return the excerpts as an answer; if there are several, each follows its heading."""
    text = ""
    claims: list[tuple[Span, Unit]] = []
    passages: list[AnswerPassage] = []
    for excerpt in excerpts:
        part, spans = quoted_text(excerpt.units, context)
        first = context[excerpt.units[0].passage]
        text += "\n\n" if text else ""
        if len(excerpts) > 1 and first.passage.kind not in _TASKS:
            text += f"{_title(first)}\n\n"
        claims += [((len(text) + start, len(text) + end), unit) for (start, end), unit in spans]
        text += part
        passages.append(_passage(part, excerpt, context))
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
        text += f"{chr(10) if text else ''}- {before}"
        claims.append(((len(text), len(text) + len(term)), unit))
        text += f"{term}{after}"
    return context, ExtractiveAnswer(text, tuple(claims))


_TASKS = frozenset({BlockKind.EXERCISE, BlockKind.HEADING})


def _leading(
    section: Sequence[ContextPassage], share: int, split_sentences: SplitSentences, language: str
) -> list[Unit]:
    """Return the section's beginning within `share` words, at least one unit.

    These are whole blocks, then sentences of the next block.
    """
    chosen = _within([whole_unit(at, one) for at, one in enumerate(section)], share)
    if len(chosen) == len(section):
        return chosen
    chosen = _without_lead_ins(chosen)
    whole = len(chosen)
    left = share - sum(block.size for block in chosen)
    rest = [_shifted(unit, whole) for unit in units(section[whole:], split_sentences, language)]
    chosen += _within(rest, left) or ([] if chosen else rest[:1])
    return _without_lead_ins(chosen) or chosen[:1]


def _within(found: Sequence[Unit], share: int) -> list[Unit]:
    """The first units that have at most `share` words together."""
    sizes = accumulate(unit.size for unit in found)
    return [*found[: sum(1 for _ in takewhile(lambda size: size <= share, sizes))]]


def _without_lead_ins(chosen: Sequence[Unit]) -> list[Unit]:
    """Drop units at the end that introduce a block that is not chosen."""
    end = len(chosen)
    while end and chosen[end - 1].text.endswith(COLONS):
        end -= 1
    return [*chosen[:end]]


def _shifted(unit: Unit, by: int) -> Unit:
    return Unit(unit.passage + by, unit.start, unit.end, unit.kind, unit.text)


def _title(one: ContextPassage) -> str:
    """Return page title and section title, because pages may have sections of the same title."""
    path = one.passage.heading_path
    return " \u203a ".join(dict.fromkeys((*path[:1], *path[-1:])))


def _passage(text: str, excerpt: Excerpt, context: Sequence[ContextPassage]) -> AnswerPassage:
    """Return the excerpt as a passage without marks, since all of it is the answer."""
    held = dict.fromkeys(context[unit.passage].passage.paragraph_id for unit in excerpt.units)
    first = context[excerpt.units[0].passage]
    return AnswerPassage(
        paragraph_ids=tuple(filter(None, held)),
        text=text,
        heading_path=first.passage.heading_path,
        url=first.passage.url,
        paragraph_id=first.passage.paragraph_id,
        book=first.book,
    )
