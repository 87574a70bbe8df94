"""Entries of the question log: answered questions and readers' feedback."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from app.domain.answer import AnswerMode, AnswerPassage, Citation, Confidence, Source

MAX_REASON_CHARS = 1_000


class Rating(StrEnum):
    UP = "up"
    DOWN = "down"
    NONE = "none"
    """Removes an earlier rating."""


class MarkKind(StrEnum):
    CLICKED = "clicked"
    UNHELPFUL = "unhelpful"


@dataclass(frozen=True, slots=True)
class LoggedParagraph:
    """A cited paragraph or a source; in a refusal, one of the nearest sections."""

    paragraph_id: str
    url: str
    heading_path: tuple[str, ...]

    @property
    def section(self) -> str:
        return " > ".join(self.heading_path)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a reader did with a citation, passage or source of an answer."""

    paragraph_id: str
    event: MarkKind
    """clicked: the reader opened it; unhelpful: it does not help or fit."""


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    id: str
    asked_at: datetime
    """UTC."""
    book: str
    """"" if several books were asked and neither citations nor sources determine one."""
    question: str
    """Without personal data."""
    mode: AnswerMode
    confidence: Confidence
    degraded: tuple[str, ...] = ()
    usd: float = 0.0
    """Price of all calls to providers."""
    citations: tuple[LoggedParagraph, ...] = ()
    """Each paragraph once."""
    sources: tuple[LoggedParagraph, ...] = ()
    """Best first."""
    rating: Rating = Rating.NONE
    reason: str = ""
    """The reason that the reader gave, without personal data."""
    marks: tuple[Mark, ...] = ()

    @property
    def refused(self) -> bool:
        return self.confidence is Confidence.NOT_IN_BOOK

    @property
    def paragraphs(self) -> tuple[LoggedParagraph, ...]:
        """The citations, then the sources."""
        return self.citations + self.sources

    def with_feedback(self, feedback: Feedback) -> LoggedAnswer:
        """Return the answer with a reader's feedback; a mark that it has is kept once."""
        mark = feedback.citation
        new = (mark,) if mark and mark not in self.marks else ()
        return replace(
            self,
            rating=self.rating if feedback.rating is None else feedback.rating,
            reason=self.reason if feedback.reason is None else feedback.reason,
            marks=self.marks + new,
        )


@dataclass(frozen=True, slots=True)
class Feedback:
    """A reader's feedback on an answer; fields that are None keep their earlier value."""

    answer_id: str
    rating: Rating | None = None
    reason: str | None = None
    citation: Mark | None = None


def logged_paragraphs(
    places: Iterable[Citation | AnswerPassage | Source],
) -> tuple[LoggedParagraph, ...]:
    """Return each paragraph once."""
    found = {
        one.paragraph_id: LoggedParagraph(one.paragraph_id, one.url, one.heading_path)
        for one in places
    }
    return tuple(found.values())
