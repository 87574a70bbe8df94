"""The book's own figures: which paragraphs bring one, and which one a question asks for."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from app.domain.answer import AnswerFigure, AnswerPassage
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.languages import in_any

MAX_FIGURES = 3
LEAST_SHARE = 0.5
"""Minimum score of a figure that a question asks for."""
AROUND = 0.6
"""Factor on the weight of a term that only the headings or the paragraphs beside a figure have."""

_NUMBERED = re.compile(rf"(?:{in_any('figure_number')})\s*(\d+(?:[.\-\u2013]\d+)*)", re.IGNORECASE)
_POINTING = re.compile(in_any("figure_here"), re.IGNORECASE)
_ASKING = re.compile(in_any("figure_wanted"), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure and its place on a page."""

    passage: AnswerPassage
    """Its caption, else its alternative text, as a passage that shows it."""
    number: str
    """The number in its caption, such as "4.2"; "" if none."""
    bringing: frozenset[str]
    """Ids of its paragraph, of its caption and of paragraphs that refer to it."""
    beside: frozenset[str]
    """Ids of the paragraphs before and after it; empty if one is missing."""
    around: str
    """The headings above it and the text beside it."""
    in_solution: bool
    """Whether it is part of a solution, which is shown only on request."""

    @property
    def figure(self) -> AnswerFigure:
        return self.passage.figures[0]

    @property
    def near(self) -> frozenset[str]:
        """Ids of the paragraphs at which it may be shown."""
        return self.bringing | self.beside

    def is_brought_by(self, shown: Collection[str]) -> bool:
        """Whether these paragraphs include or refer to it, or stand on both sides of it."""
        if self.in_solution:
            return self.figure.paragraph_id in shown
        between = bool(self.beside) and self.beside.issubset(shown)
        return between or not self.bringing.isdisjoint(shown)


def page_figures(page: Sequence[Passage], book: BookId) -> Iterator[PageFigure]:
    """Yield the figures of a page of the book, given its paragraphs in reading order."""
    paragraphs = [one for one in page if one.kind is not BlockKind.HEADING]
    for at, own in enumerate(paragraphs):
        if own.figure is None:
            continue
        caption = own.figure.caption
        following = paragraphs[at + 1 : at + 2]
        captions = [one for one in following if one.text == caption]
        after = at + 1 + len(captions)
        beside = [*paragraphs[max(at - 1, 0) : at], *paragraphs[after : after + 1]]
        numbered = _NUMBERED.match(caption)
        number = numbered[1] if numbered else ""
        referring = [one for one in beside if _POINTING.search(one.text)]
        referring += [one for one in paragraphs if number and number in _numbers(one.text)]
        shown = AnswerFigure(own.figure.url, own.figure.alt, caption, own.paragraph_id, own.url)
        yield PageFigure(
            AnswerPassage(
                paragraph_ids=tuple(one.paragraph_id for one in (own, *captions)),
                text=shown.title,
                heading_path=own.heading_path,
                url=own.url,
                paragraph_id=own.paragraph_id,
                book=book,
                figures=(shown,),
            ),
            number,
            bringing=frozenset(one.paragraph_id for one in (own, *captions, *referring)),
            beside=frozenset(one.paragraph_id for one in beside if len(beside) > 1),
            around="\n".join([*own.heading_path, *(one.text for one in beside)]),
            in_solution=own.kind is BlockKind.SOLUTION,
        )


def asks_for_figure(question: str) -> bool:
    """Whether a question asks to see something: "show me the diagram of X", "Figure 4.2"."""
    return bool(_ASKING.search(question) or _NUMBERED.search(question))


def asked_figure(
    question: str, features: QuestionAnalysis, figures: Sequence[PageFigure]
) -> PageFigure | None:
    """Return the one of these figures, best pages first, that a question for one means, or None.

    Its score is the weighted share of the question's terms in its caption and alternative text, and
    by a factor in the text around it. A figure with the asked number is taken.
    """
    figures = [one for one in figures if not one.in_solution]
    numbers = _numbers(question)
    if numbered := [one for one in figures if one.number in numbers]:
        return numbered[0]
    scores = [_score(features, one) for one in figures]
    best = max(scores, default=0.0)
    return figures[scores.index(best)] if best >= LEAST_SHARE else None


def _score(features: QuestionAnalysis, one: PageFigure) -> float:
    own = features.terms(f"{one.figure.caption} {one.figure.alt}")
    around = features.terms(one.around)
    return sum(
        weight * (1.0 if term in own else AROUND * (term in around))
        for term, weight in features.weights.items()
    )


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBERED.findall(text))
