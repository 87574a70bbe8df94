"""The owner's report on logged answers: gaps, paragraphs, chapters, cost and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TypeVar

from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, MarkKind, Rating
from app.domain.percentile import percentile

T = TypeVar("T")

LISTED = 50
"""Maximum number of entries in each list."""
MOST_DAYS = 366
"""Maximum number of rows of the tables by day."""
_NO_QUESTION = frozenset({AnswerMode.SMALL_TALK, AnswerMode.CLARIFICATION})


@dataclass(frozen=True, slots=True)
class QuestionCluster:
    """Questions with the same meaning."""

    question: str
    """The wording that was asked most often."""
    others: tuple[str, ...]
    """The other wordings, most frequent first."""
    asked: int
    readers: int
    refused: int
    uncertain: int
    down: int
    """Answers that readers rated down."""
    nearest: LoggedParagraph | None
    """First paragraph of the section that is nearest in most of the answers."""
    why: tuple[str, ...]
    """Why they count as not answered, most frequent first; empty if all were answered."""
    reasons: tuple[str, ...]
    """Reasons that readers gave in their feedback."""
    gaps: int
    """Answers that count as not answered, for one of the reasons in `why`."""
    answer_ids: tuple[str, ...]

    @property
    def not_answered(self) -> int:
        return self.refused + self.uncertain


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
class ChapterUse:
    chapter: str
    questions: int
    readers: int
    not_answered: int

    @property
    def per_reader(self) -> float:
        return self.questions / max(1, self.readers)


@dataclass(frozen=True, slots=True)
class DayUse:
    day: date
    questions: int = 0
    not_answered: int = 0
    median_ms: float = 0.0
    p95_ms: float = 0.0
    usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class OwnerReport:
    book: str
    """"" for all books."""
    since: datetime
    until: datetime
    questions: int
    readers: int
    """Sum of the readers of each day."""
    by_confidence: Mapping[str, int]
    by_mode: Mapping[str, int]
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
    chapters: tuple[ChapterUse, ...]
    days: tuple[DayUse, ...]
    stages: Mapping[str, float] = field(default_factory=dict)
    """Median milliseconds by step."""


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
    gaps = [one for one in found if one.why]
    return OwnerReport(
        book=book,
        since=since,
        until=until,
        questions=sum(map(is_question, answers)),
        readers=_readers(answers),
        by_confidence=_counts(str(one.confidence) for one in answers if is_question(one)),
        by_mode=_counts(str(one.mode) for one in answers),
        degraded=_counts(part for one in answers for part in one.degraded),
        up=sum(one.rating is Rating.UP for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        usd=sum(one.usd for one in answers),
        most_asked=_top(found, lambda one: one.asked),
        gaps=_top(gaps, lambda one: one.gaps),
        most_cited=_top(paragraphs, lambda one: one.cited),
        unhappy=_top(
            [one for one in paragraphs if one.down or one.unhelpful],
            lambda one: one.unhelpful + one.down,
        ),
        chapters=_chapters(answers),
        days=_days(since, until, answers),
        stages=_stages(answers),
    )


def is_question(answer: LoggedAnswer) -> bool:
    return answer.mode not in _NO_QUESTION


def _top(items: Iterable[T], key: Callable[[T], float]) -> tuple[T, ...]:
    return tuple(sorted(items, key=lambda one: -key(one))[:LISTED])


def _counts(names: Iterable[str]) -> Mapping[str, int]:
    return dict(Counter(names).most_common())


def _readers(answers: Iterable[LoggedAnswer]) -> int:
    """Pseudonyms change every day: a reader counts once a day."""
    return len({(one.asked_at.date(), one.reader) for one in answers})


def _cluster(answers: Sequence[LoggedAnswer]) -> QuestionCluster:
    wordings = Counter(" ".join(one.question.split()) for one in answers).most_common()
    why = Counter(filter(None, map(why_not_answered, answers))).most_common()
    return QuestionCluster(
        question=wordings[0][0],
        others=tuple(text for text, _ in wordings[1:]),
        asked=len(answers),
        readers=_readers(answers),
        refused=sum(one.refused for one in answers),
        uncertain=sum(one.confidence is Confidence.UNCERTAIN for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        nearest=_nearest(answers),
        why=tuple(text for text, _ in why),
        reasons=tuple(dict.fromkeys(filter(None, (one.reason for one in answers)))),
        gaps=sum(count for _, count in why),
        answer_ids=tuple(one.id for one in answers),
    )


def _nearest(answers: Sequence[LoggedAnswer]) -> LoggedParagraph | None:
    """Return the first paragraph of the section that is nearest most often."""
    nearest = [one.paragraphs[0] for one in answers if one.paragraphs]
    if not nearest:
        return None
    section = Counter(one.section for one in nearest).most_common(1)[0][0]
    return next(one for one in nearest if one.section == section)


def why_not_answered(answer: LoggedAnswer) -> str:
    """The reason in one sentence; "" if the question was answered and not rated down."""
    if answer.refused:
        text = "refused: no passage of the book is near enough to the question"
    elif answer.confidence is Confidence.UNCERTAIN:
        text = "uncertain: passages are near, but may not answer the question"
    elif answer.rating is Rating.DOWN:
        text = "answered, and rated down"
    else:
        return ""
    return f"{text} (degraded: {', '.join(answer.degraded)})" if answer.degraded else text


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


def _chapters(answers: Sequence[LoggedAnswer]) -> tuple[ChapterUse, ...]:
    """Count by chapter, most questions per reader first.

    A question belongs to the chapter of the first cited paragraph, else of the nearest section.
    """
    by_chapter: dict[str, list[LoggedAnswer]] = {}
    for one in filter(is_question, answers):
        if one.paragraphs and one.paragraphs[0].heading_path:
            by_chapter.setdefault(one.paragraphs[0].heading_path[0], []).append(one)
    chapters = [
        ChapterUse(
            chapter,
            questions=len(asked),
            readers=_readers(asked),
            not_answered=sum(one.confidence is not Confidence.ANSWERED for one in asked),
        )
        for chapter, asked in by_chapter.items()
    ]
    return tuple(sorted(chapters, key=lambda one: (-one.per_reader, -one.questions))[:LISTED])


def _days(since: datetime, until: datetime, answers: Sequence[LoggedAnswer]) -> tuple[DayUse, ...]:
    """A row for each day up to the last, days without questions included."""
    by_day: dict[date, list[LoggedAnswer]] = {}
    for one in answers:
        by_day.setdefault(one.asked_at.date(), []).append(one)
    last = until.date()
    first = max(since.date(), last - timedelta(days=MOST_DAYS - 1))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return tuple(_day(day, by_day[day]) if day in by_day else DayUse(day) for day in days)


def _day(day: date, answers: Sequence[LoggedAnswer]) -> DayUse:
    asked = [one for one in answers if is_question(one)]
    times = [one.milliseconds for one in asked]
    return DayUse(
        day,
        questions=len(asked),
        not_answered=sum(one.confidence is not Confidence.ANSWERED for one in asked),
        median_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        usd=sum(one.usd for one in answers),
        tokens=sum(one.input_tokens + one.output_tokens for one in answers),
    )


def _stages(answers: Sequence[LoggedAnswer]) -> Mapping[str, float]:
    times: dict[str, list[float]] = {}
    for answer in answers:
        for stage, milliseconds in answer.stages.items():
            times.setdefault(stage, []).append(milliseconds)
    return {stage: percentile(values, 0.5) for stage, values in times.items()}
