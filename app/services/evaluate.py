"""Measure retrieval on questions with known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from app.domain.retrieval.metrics import (
    NDCG_DEPTH,
    RankingScores,
    Retrieved,
    percentile,
    recall,
    score_ranking,
)
from app.domain.retrieval.query import ContextPassage, SearchFilter, SearchMode, SearchQuery
from app.domain.retrieval.question import Question
from app.services.retrieve import Retrieve, SearchResult


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    book: str = ""
    """Ask this book only; "" for all."""
    k: int = 5
    mode: SearchMode = SearchMode.HYBRID
    rerank: bool = False
    context_tokens: int = 3_000


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one question's search gave; `scores` is None for an unanswerable question."""

    question: Question
    scores: RankingScores | None
    context_recall: float
    """Share of the gold's characters in the paragraphs of the assembled context."""
    context_tokens: int
    top_score: float
    milliseconds: float
    degraded: bool


@dataclass(frozen=True, slots=True)
class Evaluation:
    k: int
    results: tuple[QuestionResult, ...]

    def summary(self) -> Mapping[str, float]:
        """Means over the answerable questions; times over all."""
        return _summary(self.results, self.k)

    def by_kind(self) -> Mapping[str, Mapping[str, float]]:
        kinds = sorted({result.question.kind for result in self.results})
        return {
            kind: _summary([one for one in self.results if one.question.kind == kind], self.k)
            for kind in kinds
        }


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The use case. `clock` gives seconds, e.g. `time.perf_counter`."""

    retrieve: Retrieve
    clock: Callable[[], float]

    async def run(
        self,
        questions: Sequence[Question],
        request: EvaluationRequest,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Evaluation:
        """Ask every question in turn; `advance(1)` after each. Raises what `Retrieve` raises."""
        results = []
        for question in questions:
            results.append(await self._ask(question, request))
            advance(1)
        return Evaluation(request.k, tuple(results))

    async def _ask(self, question: Question, request: EvaluationRequest) -> QuestionResult:
        query = _query(question, request)
        started = self.clock()
        found = await self.retrieve.search(query)
        elapsed = self.clock() - started
        hits = found.hits[: request.k]
        context = self.retrieve.context(hits, request.context_tokens)
        return QuestionResult(
            question=question,
            scores=_scores(question, found, request.k),
            context_recall=_context_recall(question, context),
            context_tokens=sum(one.tokens for one in context),
            top_score=found.hits[0].score if found.hits else 0.0,
            milliseconds=elapsed * 1000,
            degraded=bool(found.degraded),
        )


def _query(question: Question, request: EvaluationRequest) -> SearchQuery:
    return SearchQuery(
        question=question.question,
        # nDCG looks ten deep; more than k hits do not change the first k.
        k=max(request.k, NDCG_DEPTH),
        mode=request.mode,
        filter=SearchFilter(
            books=(request.book,) if request.book else (),
            files=(question.filter_file,) if question.filter_file else (),
        ),
        history=question.history,
        rerank=request.rerank,
    )


def _scores(question: Question, found: SearchResult, k: int) -> RankingScores | None:
    if not question.answerable:
        return None
    ranking = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in found.hits]
    return score_ranking(question, ranking, k)


def _context_recall(question: Question, context: Sequence[ContextPassage]) -> float:
    if not question.answerable:
        return 0.0
    shown = [Retrieved(one.file, ((one.passage.start, one.passage.end),)) for one in context]
    return recall(question, shown)


def _summary(results: Sequence[QuestionResult], k: int) -> Mapping[str, float]:
    scored = [(one, one.scores) for one in results if one.scores is not None]
    scores = [of_one for _, of_one in scored]
    times = [one.milliseconds for one in results]
    return {
        "n": len(scores),
        f"recall@{k}": _mean([one.recall for one in scores]),
        "hit@1": _mean([one.hit(1) for one in scores]),
        f"hit@{k}": _mean([one.hit(k) for one in scores]),
        f"page_hit@{k}": _mean([one.page_hit(k) for one in scores]),
        "mrr": _mean([one.reciprocal_rank for one in scores]),
        f"ndcg@{NDCG_DEPTH}": _mean([one.ndcg for one in scores]),
        "precision": _mean([one.precision for one in scores if one.precision is not None]),
        "iou": _mean([one.iou for one in scores if one.iou is not None]),
        "context_recall": _mean([one.context_recall for one, _ in scored]),
        "context_tokens": round(_mean([float(one.context_tokens) for one, _ in scored]), 1),
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
    }


def _mean(values: Sequence[float]) -> float:
    return round(fsum(values) / len(values), 4) if values else 0.0
