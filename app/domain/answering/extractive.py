"""The book's own best sentences: which to quote, and how they are put together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.domain.answering.announcements import Announcements
from app.domain.answering.asked import Asked
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.relevance import Relevance, enumerates
from app.domain.answering.select_block import select_block
from app.domain.answering.select_comparison import contrasted, select_comparison, table_of_both
from app.domain.answering.steps_told import steps_told
from app.domain.answering.units import BLOCKS, WHOLE, Unit, marker_before, units
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import Terms, words

MAX_WORDS = 120
"""Of the sentences of an answer."""
MAX_BLOCKS = 2
MAX_BLOCK_WORDS = 200
"""Of the code blocks, tables and introduced lists of an answer, together."""
MAX_STEPS_WORDS = 300
"""Of steps that are told in prose: some of them would not do."""
FEWEST_WORDS = 30
"""Of an answer that explains, where the paragraph of its best sentence has them."""
MAX_UNITS = 4
MIN_RELATIVE_SCORE = 0.82
"""Of the best unit's score, what a further one must have."""
BESIDE_NAMES = 0.95
"""The same beside a sentence that names the several things asked for."""
BESIDE_ENTRY = 0.65
"""The same beside an entry of the glossary: one sentence of the text that explains the term."""
SAME_PASSAGE = 0.25
"""Added to units of the paragraph that the best one stands in: an explanation goes on."""
MIN_NEWS = 0.3
"""Share of a further unit's terms that are not said yet."""
_SOLUTION_TITLE = re.compile(r"(?:solution|answer|lösung|solución)s?\W*\n+(?=\S)", re.IGNORECASE)
_LEANS_BACK = re.compile(
    r"(?:this|that|these|those|it|its|they|their|he|she|such|however|but|so|thus|therefore"
    r"|for example|instead|then|as a result|in (?:this|that|contrast))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    """`text[start:end]` of each claim is its unit, word for word.

    A table's lines have a rule between head and body, which the book's text has not.
    """

    text: str
    claims: tuple[tuple[Span, Unit], ...]


def quotable(given: ExtractionInput, read: str = "") -> list[Unit]:
    """All that an answer may be made of, in the order of the context.

    What stands in `read`, the text that the reader asks about, is left out unless there is nothing
    else.
    """
    found = list(units(given.context, given.split_sentences, given.language))
    if read:
        return [unit for unit in found if _same(unit.text) not in _same(read)] or found
    return found


def extract(
    given: ExtractionInput, found: Sequence[Unit], likeness: Sequence[float]
) -> ExtractiveAnswer:
    """The best one to four units, in the order of the context; no text when none fits.

    `found` are the quotable units, `likeness` says how like the question each of them is, -1 to 1.
    """
    question, context, terms = given.question, given.context, given.terms
    asked = Asked.of(question, given.weights, terms)
    relevance = Relevance(asked, context, terms)
    brought = Announcements(found, context).brought()
    scores = [
        score if _is_to_be_had(brings, found) else 0.0
        for score, brings in zip(relevance.scores(found, likeness), brought, strict=True)
    ]
    scores = contrasted(found, scores, relevance)
    choice = _Choice(found, scores, brought, terms)
    defining, together = select_comparison(found, scores, relevance)
    table = table_of_both(found, relevance)
    block = select_block(found, scores, likeness, relevance)
    told = steps_told(found, relevance)
    if defining:
        choice.take_in_turn(defining, together)
    elif table and choice.has_room_for(table):
        choice.take_in_turn([], table)
    elif block and choice.has_room_for(block):
        choice.take_in_turn([], block)
    elif told and choice.has_room_for(told, MAX_STEPS_WORDS):
        choice.take_in_turn(told, [])
    else:
        choice.take(asked, context)
    return compose(choice.chosen(), context)


def _is_to_be_had(brings: Sequence[int] | None, found: Sequence[Unit]) -> bool:
    """Whether what a unit announces is there and not too long."""
    if brings is None:
        return False
    prose = sum(found[at].size for at in brings if found[at].kind not in BLOCKS)
    block = sum(found[at].size for at in brings if found[at].kind in BLOCKS)
    return prose <= MAX_WORDS and block <= MAX_BLOCK_WORDS


def to_read(given: ExtractionInput) -> list[ContextPassage]:
    """The paragraphs with the units that answer best, best first; no exercise nor solution."""
    context, terms = given.context, given.terms
    relevance = Relevance(Asked.of(given.question, given.weights, terms), context, terms)
    found = list(units(context, given.split_sentences, given.language))
    best: dict[int, float] = {}
    for unit, score in zip(found, relevance.scores(found, [0.0] * len(found)), strict=True):
        if score > best.get(unit.passage, 0.0):
            best[unit.passage] = score
    return [context[at] for at in sorted(best, key=lambda at: (-best[at], at))]


def whole(context: Sequence[ContextPassage], paragraph_ids: Collection[str]) -> ExtractiveAnswer:
    """These paragraphs as they stand, but for a title that only says "Solution"."""
    chosen: list[Unit] = []
    for at, one in enumerate(context):
        if one.passage.paragraph_id in paragraph_ids:
            text = one.passage.text
            title = _SOLUTION_TITLE.match(text)
            start = title.end() if title else 0
            chosen.append(Unit(at, start, len(text), one.passage.kind, text[start:]))
    return compose(chosen, context)


@dataclass(slots=True)
class _Choice:
    """Picks greedily what answers and is not yet said, and what its sentences lean on."""

    units: Sequence[Unit]
    scores: Sequence[float]
    brought: Sequence[Sequence[int] | None]
    """What each unit announces; None if it is not to be had."""
    terms: Terms
    _first: list[int] = field(default_factory=list)
    """Positions of units that stand in front, in this order."""
    _taken: set[int] = field(default_factory=set)
    _said: set[int] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)
    _room: int = MAX_WORDS
    _block_room: int = MAX_BLOCK_WORDS
    _blocks: int = 0

    def chosen(self) -> list[Unit]:
        """In the order of the context, but an entry of the glossary before what explains it."""
        rest = [self.units[at] for at in sorted(self._taken.difference(self._first))]
        rest.sort(key=lambda unit: unit.kind is not BlockKind.GLOSSARY_ENTRY)
        return [*(self.units[at] for at in self._first), *rest]

    def take_in_turn(self, first: Sequence[int], further: Sequence[int]) -> None:
        """Take the first ones as they come, and what says more than they do."""
        for at in first:
            for one in (at, *(self.brought[at] or ())):
                if one not in self._taken:
                    self._add(one)
                    self._first.append(one)
        for at in further:
            if at not in self._taken:
                self._add_support(at)  # first, while there is room for it
                self._add(at)

    def has_room_for(self, block: Sequence[int], most: int = MAX_BLOCK_WORDS) -> bool:
        hangs = any(self.brought[at] is None for at in block)
        return not hangs and self._size(block) <= most

    def take(self, asked: Asked, context: Sequence[ContextPassage]) -> None:
        best = max(range(len(self.units)), key=lambda at: self.scores[at], default=None)
        if best is None or self.scores[best] <= 0:
            return
        self._add(best)
        if self.units[best].kind is BlockKind.LIST and _whole_is_asked(
            self.units[best], asked, context
        ):
            passage = self.units[best].passage
            items = [at for at, unit in enumerate(self.units) if unit.passage == passage]
            self._add_all(items)
            self._add_support(items[0])
        self._add_support(best)
        entry = self.units[best].kind is BlockKind.GLOSSARY_ENTRY
        named = asked.several and enumerates(self.units[best].text)
        share = BESIDE_ENTRY if entry else BESIDE_NAMES if named else MIN_RELATIVE_SCORE
        least = share * self.scores[best]
        most = 2 if entry else MAX_UNITS
        for at, value in self._by_value(best):
            if len(self._taken) >= most or value < least:
                break
            if self._adds_something(at):
                self._add(at)
                self._add_support(at)
        if asked.explains:
            self._go_on(best)

    def _go_on(self, best: int) -> None:
        """Let a short answer go on with what its paragraph says next."""
        passage = self.units[best].passage
        for at in range(best + 1, len(self.units)):
            unit = self.units[at]
            if unit.passage != passage or unit.kind in WHOLE or unit.kind is BlockKind.LIST:
                return
            if self._room <= MAX_WORDS - FEWEST_WORDS or len(self._taken) >= MAX_UNITS:
                return
            if not self._fits(at):
                return
            if at not in self._taken:
                self._add(at)
                self._add_support(at)

    def _by_value(self, best: int) -> list[tuple[int, float]]:
        passage = self.units[best].passage
        values = [
            (at, score + (SAME_PASSAGE if self.units[at].passage == passage else 0.0))
            for at, score in enumerate(self.scores)
            if score > 0
        ]
        return sorted(values, key=lambda one: (-one[1], one[0]))

    def _adds_something(self, at: int) -> bool:
        unit = self.units[at]
        own = self.terms(unit.text)
        return (
            at not in self._taken
            and _same(unit.text) not in self._texts
            and self._fits(at)
            and len(own - self._said) >= MIN_NEWS * len(own)
        )

    def _fits(self, at: int) -> bool:
        """With all that it announces."""
        brings = self.brought[at]
        if brings is None:
            return False
        whole = [one for one in (at, *brings) if self.units[one].kind in WHOLE]
        if whole and self._blocks >= MAX_BLOCKS:
            return False
        in_blocks = {*whole, *(one for one in brings if self.units[one].kind in BLOCKS)}
        prose = {at, *brings} - in_blocks
        return self._size(in_blocks) <= self._block_room and self._size(prose) <= self._room

    def _size(self, chosen: Collection[int]) -> int:
        """In words, of those not yet taken."""
        return sum(self.units[at].size for at in chosen if at not in self._taken)

    def _add(self, at: int) -> None:
        unit = self.units[at]
        self._taken.add(at)
        self._said |= self.terms(unit.text)
        self._texts.add(_same(unit.text))
        if unit.kind in WHOLE:
            self._block_room -= unit.size
            self._blocks += 1
        else:
            self._room -= unit.size

    def _add_support(self, at: int) -> None:
        for one in self._company(at):
            if one not in self._taken:
                self._add(one)

    def _company(self, at: int) -> list[int]:
        """The sentence this one leans on, and what the two announce."""
        before = [at - 1] if at and self._leans_on(at - 1, at) else []
        return [*before, *(one for each in (*before, at) for one in self.brought[each] or ())]

    def _leans_on(self, first: int, second: int) -> bool:
        before, unit = self.units[first], self.units[second]
        if self.brought[first] is None or before.passage != unit.passage:
            return second in (self.brought[first] or ())
        prose = unit.kind not in BLOCKS
        return prose and bool(_LEANS_BACK.match(unit.text)) and before.size <= self._room

    def _add_all(self, block: Sequence[int]) -> None:
        """Take a list, code block, table or formula whole, if it is not too long."""
        if sum(self.units[at].size for at in block) <= self._block_room:
            for at in block:
                self._add(at)


def _whole_is_asked(item: Unit, asked: Asked, context: Sequence[ContextPassage]) -> bool:
    numbered = marker_before(context[item.passage].passage.text, item.start) != "-"
    return asked.list or (asked.how and numbered)


def _same(text: str) -> str:
    return " ".join(words(text))


def compose(chosen: Sequence[Unit], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    """Join units as they come: sentences of a paragraph by a blank, paragraphs by an empty line."""
    text = ""
    claims: list[tuple[Span, Unit]] = []
    previous: Unit | None = None
    numbered = _in_sequence(chosen, context)
    for unit in chosen:
        text += _joint(previous, unit, context)
        before, quoted, after = _framed(unit, context, unit in numbered)
        text += before
        claims.append(((len(text), len(text) + len(quoted)), unit))
        text += quoted + after
        previous = unit
    return ExtractiveAnswer(text, tuple(claims))


def _joint(previous: Unit | None, unit: Unit, context: Sequence[ContextPassage]) -> str:
    if previous is None:
        return ""
    lists = [one.kind is BlockKind.LIST for one in (previous, unit)]
    if previous.passage != unit.passage or lists[0] != lists[1]:
        return "\n\n"
    between = context[unit.passage].passage.text[previous.end : unit.start]
    if "\n\n" in between and not all(lists):
        return "\n\n"
    return "\n" if all(lists) or "\n" in between else " "


def _in_sequence(chosen: Sequence[Unit], context: Sequence[ContextPassage]) -> set[Unit]:
    """The items that stand beside the next or the last one of their list: the fourth step alone
    would be shown as the first one.
    """
    found: set[Unit] = set()
    for one, other in pairwise(chosen):
        between = context[one.passage].passage.text[one.end : other.start]
        if one.passage == other.passage and marker_before(between, len(between)) == between.strip():
            found |= {one, other}
    return found


def _framed(unit: Unit, context: Sequence[ContextPassage], numbered: bool) -> tuple[str, str, str]:
    """What stands before the unit's words, the words, and what stands after them."""
    passage = context[unit.passage].passage
    if unit.kind is BlockKind.CODE:
        longest = max((len(run) for run in re.findall("`+", unit.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{passage.language}\n", unit.text, f"\n{fence}"
    if unit.kind is BlockKind.LIST:
        marker = marker_before(passage.text, unit.start) if numbered else "-"
        return f"{marker} ", unit.text, ""
    if unit.kind is BlockKind.TABLE:
        return "", "\n".join(_with_rule(unit.text)), ""
    return "", unit.text, ""


def _with_rule(table: str) -> Iterator[str]:
    """Lines of a table, "a | b", with the rule that makes Markdown show them as a table."""
    head, *body = table.split("\n")
    yield head
    yield " | ".join("---" for _ in head.split(" | "))
    yield from body
