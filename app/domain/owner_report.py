"""The owner's report on logged answers: counts, gaps, paragraphs."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.answer import AnswerMode, Confidence
from app.domain.logged_answer import LoggedAnswer, LoggedParagraph, MarkKind, Rating

LISTED = 50
"""Maximum number of entries in each list."""
_NO_QUESTION = frozenset({AnswerMode.SMALL_TALK, AnswerMode.CLARIFICATION})


@dataclass(frozen=True, slots=True)
class QuestionCluster:
    """Questions with the same meaning."""

    question: str
    """The wording that was asked most often."""
    others: Sequence[str]
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
    reasons: Sequence[str]
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
    most_asked: Sequence[QuestionCluster]
    gaps: Sequence[QuestionCluster]
    """Clusters with a question that was not answered, or whose answer was rated down."""
    paragraphs: Sequence[ParagraphUse]
    """First those that readers found unhelpful, or cited in answers that they rated down; then
    those cited most."""


def owner_report(
    book: str,
    since: datetime,
    until: datetime,
    answers: Sequence[LoggedAnswer],
    clusters: Sequence[Sequence[LoggedAnswer]],
) -> OwnerReport:
    """Make the report. `clusters` are the answers that `is_question` selects, by meaning."""
    found = [_cluster(cluster) for cluster in clusters]
    questions = [one for one in answers if is_question(one)]
    gaps = [one for one in found if one.gaps]
    return OwnerReport(
        book=book,
        since=since,
        until=until,
        questions=len(questions),
        by_confidence=dict(Counter(str(one.confidence) for one in questions)),
        degraded=dict(Counter(part for one in answers for part in one.degraded)),
        up=sum(one.rating is Rating.UP for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        usd=sum(one.usd for one in answers),
        most_asked=sorted(found, key=lambda one: -one.asked)[:LISTED],
        gaps=sorted(gaps, key=lambda one: -one.gaps)[:LISTED],
        paragraphs=_paragraph_uses(answers)[:LISTED],
    )


def is_question(answer: LoggedAnswer) -> bool:
    return answer.mode not in _NO_QUESTION


def _cluster(answers: Sequence[LoggedAnswer]) -> QuestionCluster:
    wordings = Counter(" ".join(one.question.split()) for one in answers).most_common()
    nearest = [one.paragraphs[0] for one in answers if one.paragraphs]
    ((section, _), *_) = Counter(one.section for one in nearest).most_common(1) or [("", 0)]
    return QuestionCluster(
        question=wordings[0][0],
        others=[text for text, _ in wordings[1:]],
        asked=len(answers),
        refused=sum(one.refused for one in answers),
        uncertain=sum(one.confidence is Confidence.UNCERTAIN for one in answers),
        down=sum(one.rating is Rating.DOWN for one in answers),
        gaps=sum(
            one.confidence is not Confidence.ANSWERED or one.rating is Rating.DOWN
            for one in answers
        ),
        nearest=next((one for one in nearest if one.section == section), None),
        reasons=list(dict.fromkeys(filter(None, (one.reason for one in answers)))),
    )


def _paragraph_uses(answers: Sequence[LoggedAnswer]) -> list[ParagraphUse]:
    """Return the uses in the order of the report."""
    latest: dict[str, LoggedParagraph] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        latest |= {one.paragraph_id: one for one in answer.paragraphs[::-1]}
        for place in answer.citations:
            counts[place.paragraph_id].update(["cited", str(answer.rating)])
        for mark in answer.marks:
            counts[mark.paragraph_id][str(mark.event)] += 1
    uses = (
        ParagraphUse(
            latest[paragraph_id],
            cited=count["cited"],
            clicked=count[MarkKind.CLICKED],
            unhelpful=count[MarkKind.UNHELPFUL],
            down=count[Rating.DOWN],
            up=count[Rating.UP],
        )
        for paragraph_id, count in counts.items()
    )
    return sorted(uses, key=lambda one: (-one.unhelpful - one.down, -one.cited))
