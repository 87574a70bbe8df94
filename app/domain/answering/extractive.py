"""The book's own best sentences: which to quote, and how they are put together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from app.domain.answering.asked import Asked
from app.domain.answering.relevance import Relevance
from app.domain.answering.side_by_side import side_by_side
from app.domain.answering.terms import Terms, words
from app.domain.answering.units import WHOLE, SplitSentences, Unit, marker_before, units
from app.domain.document import BlockKind, Span
from app.domain.retrieval.query import ContextPassage

MAX_WORDS = 120
"""Of the sentences of an answer."""
MAX_BLOCKS = 2
MAX_BLOCK_WORDS = 200
"""Of the code blocks, tables and introduced lists of an answer, together."""
FEWEST_WORDS = 30
"""Of an answer that explains, where the paragraph of its best sentence has them."""
MAX_UNITS = 4
MIN_RELATIVE_SCORE = 0.82
"""Of the best unit's score, what a further one must have."""
BESIDE_ENTRY = 0.65
"""The same beside an entry of the glossary: one sentence of the text that explains the term."""
SAME_PASSAGE = 0.25
"""Added to units of the paragraph that the best one stands in: an explanation goes on."""
MIN_NEWS = 0.3
"""Share of a further unit's terms that are not said yet."""
_GAP = 80  # characters of mark-up between a sentence that introduces a block and the block
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


def extract(
    question: str,
    context: Sequence[ContextPassage],
    weights: Mapping[int, float],
    terms: Terms,
    split_sentences: SplitSentences,
    language: str = "en",
    read: str = "",
) -> ExtractiveAnswer:
    """The best one to four units, in the order of the context; no text when none fits.

    What stands in `read`, the text that the reader asks about, is not said again unless there is
    nothing else.

    `weights` says of each of the question's terms how much it tells: its rarity in the book.
    """
    asked = Asked.of(question, weights, terms)
    found = list(units(context, split_sentences, language))
    if read:
        found = [unit for unit in found if _same(unit.text) not in _same(read)] or found
    relevance = Relevance(asked, context, terms)
    scores = relevance.scores(found)
    choice = _Choice(found, scores, context, terms)
    defining, together = side_by_side(found, scores, relevance)
    if defining:
        choice.take_in_turn(defining, together)
    else:
        choice.take(asked)
    return compose(choice.chosen(), context)


def to_read(
    question: str,
    context: Sequence[ContextPassage],
    weights: Mapping[int, float],
    terms: Terms,
    split_sentences: SplitSentences,
    language: str = "en",
) -> list[ContextPassage]:
    """The paragraphs with the units that answer best, best first; no exercise nor solution."""
    relevance = Relevance(Asked.of(question, weights, terms), context, terms)
    found = list(units(context, split_sentences, language))
    best: dict[int, float] = {}
    for unit, score in zip(found, relevance.scores(found), strict=True):
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
    context: Sequence[ContextPassage]
    terms: Terms
    _first: tuple[int, ...] = ()
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
        self._first = tuple(first)
        for at in first:
            self._add(at)
        for at in further:
            if self._adds_something(at):
                self._add(at)
                self._add_support(at)

    def take(self, asked: Asked) -> None:
        best = max(range(len(self.units)), key=lambda at: self.scores[at], default=None)
        if best is None or self.scores[best] <= 0:
            return
        self._add(best)
        if self.units[best].kind is BlockKind.LIST and asked.list:
            passage = self.units[best].passage
            self._add_all([at for at, unit in enumerate(self.units) if unit.passage == passage])
        self._add_support(best)
        entry = self.units[best].kind is BlockKind.GLOSSARY_ENTRY
        least = (BESIDE_ENTRY if entry else MIN_RELATIVE_SCORE) * self.scores[best]
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
            and self._fits(unit)
            and len(own - self._said) >= MIN_NEWS * len(own)
        )

    def _fits(self, unit: Unit) -> bool:
        if unit.kind in WHOLE:
            return unit.size <= self._block_room and self._blocks < MAX_BLOCKS
        return unit.size <= self._room

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
        """Take along the sentence this one leans on, and the block that it introduces."""
        unit = self.units[at]
        if at and self._leans_on(self.units[at - 1], unit):
            self._add(at - 1)
        if unit.text.rstrip().endswith(":"):
            following = unit.passage + 1
            if self._adjoin(unit.passage, following) and self._ends_passage(unit):
                self._add_all([at for at, one in enumerate(self.units) if one.passage == following])
            elif unit.kind is not BlockKind.LIST:
                self._add_all(self._list_after(at))

    def _leans_on(self, before: Unit, unit: Unit) -> bool:
        if before.passage == unit.passage:
            prose = unit.kind not in WHOLE and unit.kind is not BlockKind.LIST
            return prose and bool(_LEANS_BACK.match(unit.text)) and before.size <= self._room
        block = unit.kind in WHOLE or unit.kind is BlockKind.LIST
        introduced = before.text.rstrip().endswith(":")
        return block and introduced and self._adjoin(before.passage, unit.passage)

    def _adjoin(self, first: int, second: int) -> bool:
        """Whether one passage follows the other in the book with only mark-up between."""
        if second >= len(self.context):
            return False
        one, other = self.context[first], self.context[second]
        gap = other.passage.start - one.passage.end
        return (one.book, one.file) == (other.book, other.file) and 0 <= gap <= _GAP

    def _ends_passage(self, unit: Unit) -> bool:
        return not self.context[unit.passage].passage.text[unit.end :].strip()

    def _list_after(self, at: int) -> list[int]:
        """Positions of the items that stand next in the same passage."""
        same = takewhile(
            lambda one: (
                self.units[one].passage == self.units[at].passage
                and self.units[one].kind is BlockKind.LIST
            ),
            range(at + 1, len(self.units)),
        )
        return list(same)

    def _add_all(self, block: Sequence[int]) -> None:
        """Take a list, code block, table or formula whole, if it is not too long."""
        if sum(self.units[at].size for at in block) <= self._block_room:
            for at in block:
                self._add(at)


def _same(text: str) -> str:
    return " ".join(words(text))


def compose(chosen: Sequence[Unit], context: Sequence[ContextPassage]) -> ExtractiveAnswer:
    """Join units as they come: sentences of a paragraph by a blank, paragraphs by an empty line."""
    text = ""
    claims: list[tuple[Span, Unit]] = []
    previous: Unit | None = None
    for unit in chosen:
        text += _joint(previous, unit, context)
        before, quoted, after = _framed(unit, context)
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
    return "\n" if all(lists) or "\n" in between else " "


def _framed(unit: Unit, context: Sequence[ContextPassage]) -> tuple[str, str, str]:
    """What stands before the unit's words, the words, and what stands after them."""
    passage = context[unit.passage].passage
    if unit.kind is BlockKind.CODE:
        longest = max((len(run) for run in re.findall("`+", unit.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}{passage.language}\n", unit.text, f"\n{fence}"
    if unit.kind is BlockKind.LIST:
        return f"{marker_before(passage.text, unit.start)} ", unit.text, ""
    if unit.kind is BlockKind.TABLE:
        return "", "\n".join(_with_rule(unit.text)), ""
    return "", unit.text, ""


def _with_rule(table: str) -> Iterator[str]:
    """Lines of a table, "a | b", with the rule that makes Markdown show them as a table."""
    head, *body = table.split("\n")
    yield head
    yield " | ".join("---" for _ in head.split(" | "))
    yield from body
