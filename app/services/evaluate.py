"""Evaluates retrieval and answers on questions with known answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.request import ANSWER_CHUNKS, AskRequest
from app.domain.book_id import BookId
from app.domain.evaluation.answer_metrics import ANSWER_METRICS, judge_answer
from app.domain.evaluation.calibration import RefusalCurve, refusal_curve
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.measurement import Measure, Measured, by_kind, summary
from app.domain.evaluation.retrieval_metrics import (
    NDCG_DEPTH,
    RETRIEVAL_METRICS,
    STANDARD_DEPTH,
    first_hit,
    ranking_of,
    retrieval_metrics,
)
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.answer_question import AnswerQuestion
from app.services.phases import Advance, ignore
from app.services.retrieve import Retrieve

METRICS: Mapping[Measure, Sequence[str]] = {
    Measure.RETRIEVAL: RETRIEVAL_METRICS,
    Measure.HELPFUL: ANSWER_METRICS,
}
"""Metrics of every summary, in this order, even if they apply to no question."""


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    book: BookId | None = None
    """Ask this book; None asks each question of its own book, or of all."""
    k: int = 0
    """Chunks to retrieve; 0: the standard number."""
    of: Measure = Measure.RETRIEVAL
    calibrate: bool = False
    """Also score the answerability of each question, by a second search."""

    @property
    def chunks(self) -> int:
        return self.k or (STANDARD_DEPTH if self.of is Measure.RETRIEVAL else ANSWER_CHUNKS)


@dataclass(frozen=True, slots=True)
class Evaluation:
    request: EvaluationRequest
    results: tuple[Measured, ...]
    policy: RefusalPolicy = field(default_factory=RefusalPolicy)
    """The thresholds in use."""
    missing: tuple[str, ...] = ()
    """Gold files that are not in the index, so that no search can find them."""

    def summary(self) -> Mapping[str, float]:
        return summary(self.results, METRICS[self.request.of])

    def by_kind(self) -> Mapping[str, Mapping[str, float]]:
        """Return the summary of each kind of question."""
        names = METRICS[self.request.of]
        return {kind: summary(rows, names) for kind, rows in by_kind(self.results).items()}

    def refusal(self) -> RefusalCurve | None:
        """Return the refusals by threshold; None unless questions of both kinds were scored."""
        judged = [(one.question.answerable, one.answerability) for one in self.results]
        return refusal_curve(judged, self.policy)


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The evaluation use case. `clock` returns seconds, e.g. `time.perf_counter`."""

    retrieve: Retrieve
    answering: AnswerQuestion
    clock: Callable[[], float]
    context_tokens: int = 3_000
    """Token budget of a question's context."""

    async def run(
        self, questions: Sequence[Question], request: EvaluationRequest, advance: Advance = ignore
    ) -> Evaluation:
        """Measure each question; call `advance(1)` after each.

        Raises what `AnswerQuestion` raises.
        """
        results = []
        for question in questions:
            results.append(await self._measured(question, request))
            advance(1)
        missing = await self._missing(results, request)
        return Evaluation(request, tuple(results), self.answering.refusal_policy, missing)

    async def _measured(self, question: Question, request: EvaluationRequest) -> Measured:
        asked = replace(ask_request(question, request.book), k=request.chunks)
        if request.of is Measure.RETRIEVAL:
            found = await self._searched(question, request)
            calibrate = request.calibrate
            score = (await self.answering.consult.read(asked)).score if calibrate else None
            return replace(found, answerability=score)
        read = await self.answering.consult.read(asked)
        started = self.clock()
        answer = await self.answering.answer(asked)
        elapsed = self.clock() - started
        measured = judge_answer(question, answer, read.found.hits)
        return replace(measured, answerability=read.score, milliseconds=elapsed * 1000)

    async def _searched(self, question: Question, request: EvaluationRequest) -> Measured:
        started = self.clock()
        scope, k = scope_of(question, request.book), request.chunks
        # nDCG needs ten hits; more hits than k do not change the first k.
        query = SearchQuery(
            question.question, max(k, NDCG_DEPTH), filter=scope, history=question.history
        )
        found = await self.retrieve.search(query)
        elapsed = self.clock() - started
        context = self.retrieve.context(found.hits[:k], self.context_tokens)
        metrics: dict[str, float] = {}
        ranking = ranking_of(found.hits)
        if question.answerable:
            metrics = retrieval_metrics(question, ranking, k)
            metrics["context_tokens"] = float(sum(one.tokens for one in context))
        return Measured(
            question,
            metrics,
            elapsed * 1000,
            details={
                "rank": first_hit(question, ranking) if question.answerable else None,
                "found": found.hits[0].chunk.deep_link_url if found.hits else "",
                "degraded": bool(found.degraded),
            },
        )

    async def _missing(
        self, results: Sequence[Measured], request: EvaluationRequest
    ) -> tuple[str, ...]:
        """Return the gold files that are not in the index.

        Only files of questions without a hit are checked.
        """
        lost = {
            file: one.question
            for one in results
            if one.details.get("rank") == 0
            for file in one.question.gold_files
        }
        missing = []
        for file, question in lost.items():
            in_file = replace(scope_of(question, request.book), files=(file,))
            if not await self.retrieve.index.matching(in_file):
                missing.append(file)
        return tuple(missing)


def scope_of(question: Question, book: BookId | None) -> SearchFilter:
    """Return the filter for `book`, or the question's own book and file if it has them."""
    asked = book or question.book
    return SearchFilter(
        books=(asked,) if asked else (),
        files=(question.filter_file,) if question.filter_file else (),
    )


def ask_request(question: Question, book: BookId | None) -> AskRequest:
    """Return the question as a reader would ask it."""
    return AskRequest(question.question, filter=scope_of(question, book), history=question.history)
