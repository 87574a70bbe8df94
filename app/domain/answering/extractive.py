"""Extractive answers: the best passages for a question, with the answering units marked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.answer import AnswerPassage
from app.domain.answering.passages import choose, tells_nothing
from app.domain.answering.relevance import Candidate
from app.domain.answering.units import Unit, whole_unit
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import table_row
from app.domain.page_markdown import part_markdown
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import joined_words

LEAST_GAP = 3.0
"""How much lower than the best paragraph's score that of a further passage may be."""
MARKED_GAP = 0.4
"""How much lower than the best unit's score that of a marked unit may be."""

_Claim: TypeAlias = tuple[Span, Unit]


@dataclass(frozen=True, slots=True)
class ChosenPassage:
    """Adjacent paragraphs of one section."""

    parts: Sequence[Unit]
    """What is shown of each paragraph: all of it, or a run of its units."""
    marked: Sequence[Unit] = ()
    """The units that answer."""


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    """`passages` are shown to the reader; `text` is made of them, or of parts of them.

    `text[start:end]` of each claim, which is cited, is its unit, verbatim except for the mark-up of
    a table. What is beside it is from the same paragraph.
    """

    text: str
    claims: tuple[_Claim, ...]
    passages: tuple[AnswerPassage, ...] = ()


def best_passages(
    paragraphs: Sequence[Candidate], limit: int, read: str = ""
) -> list[ChosenPassage]:
    """Return the best passages within `limit` words, best first; [] if no paragraph answers.

    Text contained in `read`, the text that the reader asks about, is left out unless there is no
    other.
    """
    answering = [at for at, one in enumerate(paragraphs) if one.answers]
    telling = [at for at in answering if not tells_nothing(paragraphs, at)]
    ranked = sorted(telling or answering, key=lambda at: (-paragraphs[at].score, at))
    near = [at for at in ranked if paragraphs[at].score >= paragraphs[ranked[0]].score - LEAST_GAP]
    chosen = choose(paragraphs, near, limit, read) or choose(paragraphs, near, limit, "")
    told = joined_words(read) if read else ""
    least: float | None = None
    passages = []
    for parts in chosen:
        scored = [
            one
            for at, part in parts.items()
            for one in paragraphs[at].scored
            if part.start <= one.unit.start and one.unit.end <= part.end
        ]
        new = [one for one in scored if joined_words(one.unit.text) not in told] or scored
        least = max(one.score for one in new) - MARKED_GAP if least is None else least
        marked = [one.unit for one in new if one.score >= least and one.answers]
        passages.append(ChosenPassage([*parts.values()], marked))
    return passages


def whole(paragraphs: Iterable[ContextPassage]) -> ExtractiveAnswer:
    """Return the paragraphs, one passage each, without marks since all of them is the answer."""
    return answer_of(ChosenPassage([whole_unit(one)]) for one in paragraphs)


def answer_of(chosen: Iterable[ChosenPassage], *, titled: bool = False) -> ExtractiveAnswer:
    """Join passages by empty lines; if `titled`, each follows its heading."""
    text = ""
    claims: list[_Claim] = []
    passages = []
    for one in chosen:
        passage, own = _written(one)
        # Pages may have sections of the same title.
        path = one.parts[0].source.passage.heading_path
        title = " \u203a ".join(dict.fromkeys((*path[:1], *path[-1:]))) if titled else ""
        text = "\n\n".join(filter(None, (text, title, passage.text)))
        at = len(text) - len(passage.text)
        claims += [((at + start, at + end), unit) for (start, end), unit in own]
        passages.append(passage)
    return ExtractiveAnswer(text, tuple(claims), tuple(passages))


def _written(chosen: ChosenPassage) -> tuple[AnswerPassage, list[_Claim]]:
    """Return the passage as Markdown, with its claims; links lead to the first marked paragraph.

    The claims of a paragraph are its marked units, or all that is shown of it.
    """
    text = ""
    claims: list[_Claim] = []
    marks: list[Span] = []
    for part in chosen.parts:
        before, quoted, after = part_markdown(part.source.passage, part.start, part.end)
        text += ("\n\n" if text else "") + before
        marked = [
            (_place(one, part, quoted, len(text)), one)
            for one in chosen.marked
            if one.source is part.source
        ]
        marks += [span for span, _ in marked]
        claims += marked or [((len(text), len(text) + len(quoted)), part)]
        text += quoted + after
    linked = (*chosen.marked, *chosen.parts)[0].source
    ids = dict.fromkeys(part.source.passage.paragraph_id for part in chosen.parts)
    passage = AnswerPassage(
        paragraph_ids=tuple(filter(None, ids)),
        text=text,
        heading_path=linked.passage.heading_path,
        url=linked.passage.url,
        paragraph_id=linked.passage.paragraph_id,
        book=linked.book,
        marks=tuple(marks),
    )
    return passage, claims


def _place(unit: Unit, part: Unit, quoted: str, at: int) -> Span:
    """Return the span of the unit where `quoted`, the text that shows the part, is at `at`."""
    if unit.end - unit.start == part.end - part.start:
        return at, at + len(quoted)
    if unit.kind is not BlockKind.TABLE:
        start = at + unit.start - part.start
        return start, start + len(unit.text)
    row = table_row(unit.text)
    start = at + quoted.index(row)
    return start, start + len(row)
