"""The owner's report on logged answers: counts, gaps, paragraphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, MarkKind, Rating

T = TypeVar("T")

LISTED = 50
"""Maximum number of entries in each list."""
_NO_QUESTION = frozenset({AnswerMode.SMALL_TALK, AnswerMode.CLARIFICATION})


@dataclass(frozen=True, slots=True)
class QuestionCluster:
    """Questions with the same meaning."""

    question: str
    """The wording that was asked most often."""
    others: tuple[str, ...]
    """The other wordings, most frequent first."""
    asked: int
    refused: int
    uncertain: int
    down: int
    """Answers that readers rated down."""
    gaps: int
    """Answers that are refused, uncertain or rated down."""
    nearest: LoggedParagraph | None
    """First paragraph of the section that is nearest in most of the answers."""
    reasons: tuple[str, ...]
    """Reasons that readers gave in their feedback."""


@dataclass(frozen=True, slots=True)
class ParagraphUse:
    paragraph: LoggedParagraph
    cited: int
    clicked: int
    unhelpful: int
    down: int
    """Answers rated down that cite it."""
    up: int


@dataclass(frozen=True, slots=True)
class OwnerReport:
    book: str
    since: datetime
    until: datetime
    questions: int
    by_confidence: Mapping[str, int]
    degraded: Mapping[str, int]
    up: int
    down: int
    usd: float
    most_asked: tuple[QuestionCluster, ...]
    gaps: tuple[QuestionCluster, ...]
    """Clusters with a question that was not answered, or whose answer was rated down."""
    most_cited: tuple[ParagraphUse, ...]
    unhappy: tuple[ParagraphUse, ...]
    """Paragraphs that readers found unhelpful, or cited in answers that they rated down."""


def owner_report(
    book: str,
    since: datetime,
    until: datetime,
    answers: Sequence[LoggedAnswer],
    clusters: Sequence[Sequence[LoggedAnswer]],
) -> OwnerReport:
    """Make the report. `clusters` are the answers that `is_question` selects, by meaning."""
    found = [_cluster(cluster) for cluster in clusters]
    paragraphs = _paragraph_uses(answers)
    unhappy = [one for one in paragraphs if one.down or one.unhelpful]
    return OwnerReport(
        book=book,
        since=since,
        until=until,
        questions=sum(map(is_question, answers)),
        by_confidence=_counts(str(one.confidence) for one in answers if is_question(one)),
        degraded=_counts(part for one in answers for part in one.degraded),
        up=sum(one.rating is Rating.UP for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        usd=sum(one.usd for one in answers),
        most_asked=_top(found, lambda one: one.asked),
        gaps=_top([one for one in found if one.gaps], lambda one: one.gaps),
        most_cited=_top(paragraphs, lambda one: one.cited),
        unhappy=_top(unhappy, lambda one: one.unhelpful + one.down),
    )


def is_question(answer: LoggedAnswer) -> bool:
    return answer.mode not in _NO_QUESTION


def _top(items: Iterable[T], key: Callable[[T], float]) -> tuple[T, ...]:
    return tuple(sorted(items, key=lambda one: -key(one))[:LISTED])


def _counts(names: Iterable[str]) -> Mapping[str, int]:
    return dict(Counter(names).most_common())


def _cluster(answers: Sequence[LoggedAnswer]) -> QuestionCluster:
    wordings = Counter(" ".join(one.question.split()) for one in answers).most_common()
    return QuestionCluster(
        question=wordings[0][0],
        others=tuple(text for text, _ in wordings[1:]),
        asked=len(answers),
        refused=sum(one.refused for one in answers),
        uncertain=sum(one.confidence is Confidence.UNCERTAIN for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        gaps=sum(map(_is_gap, answers)),
        nearest=_nearest(answers),
        reasons=tuple(dict.fromkeys(filter(None, (one.reason for one in answers)))),
    )


def _is_gap(answer: LoggedAnswer) -> bool:
    return answer.confidence is not Confidence.ANSWERED or answer.rating is Rating.DOWN


def _nearest(answers: Sequence[LoggedAnswer]) -> LoggedParagraph | None:
    """Return the first paragraph of the section that is nearest most often."""
    nearest = [one.paragraphs[0] for one in answers if one.paragraphs]
    if not nearest:
        return None
    section = Counter(one.section for one in nearest).most_common(1)[0][0]
    return next(one for one in nearest if one.section == section)


def _paragraph_uses(answers: Sequence[LoggedAnswer]) -> list[ParagraphUse]:
    latest: dict[str, LoggedParagraph] = {}
    counts: dict[str, Counter[str]] = {}
    for answer in answers:
        for place in answer.paragraphs[::-1]:
            latest[place.paragraph_id] = place
        for place in answer.citations:
            count = counts.setdefault(place.paragraph_id, Counter())
            count.update(["cited", str(answer.rating)])
        for mark in answer.marks:
            counts.setdefault(mark.paragraph_id, Counter())[str(mark.kind)] += 1
    return [
        ParagraphUse(
            latest[paragraph_id],
            cited=count["cited"],
            clicked=count[MarkKind.CLICKED],
            unhelpful=count[MarkKind.UNHELPFUL],
            down=count[Rating.DOWN],
            up=count[Rating.UP],
        )
        for paragraph_id, count in counts.items()
        if paragraph_id in latest
    ]
