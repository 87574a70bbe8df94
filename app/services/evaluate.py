"""Evaluates retrieval on questions with known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Protocol, TypeVar

from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.document import Span
from app.domain.evaluation.calibration import RefusalCurve, refusal_curve
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.retrieval_metrics import (
    NDCG_DEPTH,
    RankingScores,
    Retrieved,
    recall,
    score_ranking,
)
from app.domain.percentile import percentile
from app.domain.retrieval.query import ContextPassage, SearchFilter, SearchMode, SearchQuery
from app.services.phases import Advance, ignore
from app.services.retrieve import Retrieve

STANDARD_DEPTH = 5
"""Depth of recall and hit rate that every evaluation reports in addition to its k."""
PARAGRAPHS = "paragraphs."
"""Prefix of metrics over paragraphs instead of chunks."""


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    book: BookId | None = None
    """Search this book only; None for all."""
    k: int = STANDARD_DEPTH
    mode: SearchMode = SearchMode.HYBRID
    rerank: bool = False
    rewrite: bool = False
    """Whether a model rewrites follow-up questions; otherwise rules do."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """Result of one question's search."""

    question: Question
    measures: Mapping[str, float]
    """Metrics by name, where they apply; none for an unanswerable question."""
    first_hit: int
    """Rank of the first chunk that finds a gold span, from 1; 0 if none does."""
    first_page_hit: int
    """Rank of the first chunk of a gold file, from 1; 0 if there is none."""
    answerability: float | None
    """Answerability score, 0 to 1; None if all questions of the set are answerable."""
    milliseconds: float
    degraded: bool
    found: str = ""
    """Deep link of the first hit; "" if there is none."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    k: int
    results: tuple[QuestionResult, ...]
    policy: RefusalPolicy = field(default_factory=RefusalPolicy)
    """The thresholds in use."""
    missing: tuple[str, ...] = ()
    """Gold files that are not in the index, so that no search can find them."""

    def summary(self) -> Mapping[str, float]:
        """Return means over the answerable questions and times over all."""
        return _summary(self.results)

    def by_kind(self) -> Mapping[str, Mapping[str, float]]:
        return by_kind(self.results, _summary)

    def refusal(self) -> RefusalCurve | None:
        """Return the refusals by threshold; None if all questions are answerable."""
        judged = [(one.question.answerable, one.answerability) for one in self.results]
        return refusal_curve(judged, self.policy)


class _Result(Protocol):
    """The result of one question."""

    @property
    def question(self) -> Question: ...


R = TypeVar("R", bound=_Result)


def by_kind(
    results: Sequence[R], summary: Callable[[tuple[R, ...]], Mapping[str, float]]
) -> Mapping[str, Mapping[str, float]]:
    """Return the summary of the results of each kind of question, by kind."""
    kinds = sorted({one.question.kind for one in results})
    return {
        kind: summary(tuple(one for one in results if one.question.kind == kind)) for kind in kinds
    }


class QuestionScorer(Protocol):
    """The part of `AnswerQuestion` that evaluation needs."""

    @property
    def refusal_policy(self) -> RefusalPolicy: ...

    async def answerability(self, request: AskRequest) -> float: ...


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The evaluation use case. `clock` returns seconds, e.g. `time.perf_counter`."""

    retrieve: Retrieve
    clock: Callable[[], float]
    scorer: QuestionScorer | None = None
    """If None, refusals are not measured."""
    context_tokens: int = 3_000
    """Token budget of a question's context."""

    async def run(
        self,
        questions: Sequence[Question],
        request: EvaluationRequest,
        advance: Advance = ignore,
    ) -> Evaluation:
        """Search for each question; call `advance(1)` after each. Raises what `Retrieve` raises."""
        scorer = None if all(one.answerable for one in questions) else self.scorer
        results = []
        for question in questions:
            results.append(await self._ask(question, request, scorer))
            advance(1)
        policy = scorer.refusal_policy if scorer else RefusalPolicy()
        missing = await self._missing(results, request)
        return Evaluation(request.k, tuple(results), policy, missing)

    async def _missing(
        self, results: Sequence[QuestionResult], request: EvaluationRequest
    ) -> tuple[str, ...]:
        """Return the gold files that are not in the index.

        Only files of questions without a page hit are checked, by a search restricted to the file.
        """
        lost = {
            file: one.question
            for one in results
            if one.question.answerable and not one.first_page_hit
            for file in one.question.gold_files
        }
        books = (request.book,) if request.book else ()
        missing = []
        for file, question in lost.items():
            scope = SearchFilter(books=books, files=(file,))
            query = SearchQuery(question.question, k=1, filter=scope, rerank=False)
            if not (await self.retrieve.search(query)).hits:
                missing.append(file)
        return tuple(missing)

    async def _ask(
        self, question: Question, request: EvaluationRequest, scorer: QuestionScorer | None
    ) -> QuestionResult:
        query = _query(question, request)
        started = self.clock()
        found = await self.retrieve.search(query)
        elapsed = self.clock() - started
        context = await self.retrieve.context(found.hits[: request.k], self.context_tokens)
        ranking = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in found.hits]
        scores = score_ranking(question, ranking, request.k)
        return QuestionResult(
            question=question,
            measures=_measures(question, ranking, scores, context, request.k),
            first_hit=scores.first_hit if question.answerable else 0,
            first_page_hit=scores.first_page_hit if question.answerable else 0,
            answerability=await scorer.answerability(ask_request(question, request.book))
            if scorer
            else None,
            milliseconds=elapsed * 1000,
            degraded=bool(found.degraded),
            found=found.hits[0].chunk.deep_link_url if found.hits else "",
        )


def scope_of(question: Question, book: BookId | None) -> SearchFilter:
    """Return the filter for `book`, or all books, and for the question's file if it has one."""
    return SearchFilter(
        books=(book,) if book else (),
        files=(question.filter_file,) if question.filter_file else (),
    )


def ask_request(question: Question, book: BookId | None) -> AskRequest:
    """Return the question as a reader would ask it."""
    return AskRequest(question.question, filter=scope_of(question, book), history=question.history)


def _query(question: Question, request: EvaluationRequest) -> SearchQuery:
    return SearchQuery(
        question=question.question,
        # nDCG needs ten hits; more hits than k do not change the first k.
        k=max(request.k, NDCG_DEPTH),
        mode=request.mode,
        filter=scope_of(question, request.book),
        history=question.history,
        rerank=request.rerank,
        rewrite=request.rewrite,
    )


def _measures(
    question: Question,
    ranking: Sequence[Retrieved],
    scores: RankingScores,
    context: Sequence[ContextPassage],
    k: int,
) -> Mapping[str, float]:
    if not question.answerable:
        return {}
    paragraphs = _paragraphs(context)
    of_paragraphs = _ranked(question, paragraphs, score_ranking(question, paragraphs, k), k)
    return {
        **_ranked(question, ranking, scores, k),
        "context_tokens": float(sum(one.tokens for one in context)),
        "context_recall": recall(question, paragraphs),
        f"page_hit@{STANDARD_DEPTH}": scores.page_hit(STANDARD_DEPTH),
        **{PARAGRAPHS + name: value for name, value in of_paragraphs.items()},
    }


def _ranked(
    question: Question, ranking: Sequence[Retrieved], scores: RankingScores, k: int
) -> Mapping[str, float]:
    measures = {
        f"recall@{STANDARD_DEPTH}": recall(question, ranking[:STANDARD_DEPTH]),
        "hit@1": scores.hit(1),
        f"hit@{STANDARD_DEPTH}": scores.hit(STANDARD_DEPTH),
        "mrr": scores.reciprocal_rank,
        f"ndcg@{NDCG_DEPTH}": scores.ndcg,
    }
    if scores.precision is not None and scores.iou is not None:
        measures |= {"precision": scores.precision, "iou": scores.iou}
    # If k is the standard depth, these two repeat the first ones.
    return measures | {f"recall@{k}": scores.recall, f"hit@{k}": scores.hit(k)}


def _paragraphs(context: Sequence[ContextPassage]) -> list[Retrieved]:
    """Return the context's paragraphs, ranked by their best hit as an answer's sources are."""
    found: dict[tuple[str, str, str], list[Span]] = {}
    for one in sorted(context, key=lambda one: -one.score):
        paragraph = (one.book, one.file, one.passage.paragraph_id)
        found.setdefault(paragraph, []).append((one.passage.start, one.passage.end))
    return [Retrieved(file, tuple(sorted(spans))) for (_, file, _), spans in found.items()]


_ORDER = (
    f"recall@{STANDARD_DEPTH}",
    "hit@1",
    f"hit@{STANDARD_DEPTH}",
    "mrr",
    f"ndcg@{NDCG_DEPTH}",
    "precision",
    "iou",
    "context_tokens",
)
"""Metrics of every summary, in this order, even if they apply to no question."""


def _summary(results: Sequence[QuestionResult]) -> Mapping[str, float]:
    values: dict[str, list[float]] = {name: [] for name in _ORDER}
    for result in results:
        for name, value in result.measures.items():
            values.setdefault(name, []).append(value)
    means = {name: _mean(found) for name, found in values.items()}
    times = [one.milliseconds for one in results]
    return {
        "n": sum(one.question.answerable for one in results),
        **{name: means.pop(name) for name in _ORDER},
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
        "degraded": sum(one.degraded for one in results),
        **means,
    }


def _mean(values: Sequence[float]) -> float:
    return round(fsum(values) / len(values), 4) if values else 0.0
