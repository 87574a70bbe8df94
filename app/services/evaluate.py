"""Evaluates retrieval and answers on questions with known answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.request import ANSWER_CHUNKS, AskRequest
from app.domain.book_id import BookId
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.measurement import Measured
from app.domain.evaluation.metrics import (
    NDCG_DEPTH,
    STANDARD_DEPTH,
    first_hit,
    judge_answer,
    ranking_of,
    retrieval_metrics,
)
from app.domain.retrieval.query import SearchFilter
from app.services.answer_question import AnswerQuestion
from app.services.phases import Advance, ignore
from app.services.ports import VectorIndex
from app.services.retrieve import RetrievalResult


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    book: BookId | None = None
    """Ask this book; None asks each question of its own book, or of all."""
    k: int = 0
    """Chunks to retrieve; 0: the standard number."""
    helpful: bool = False
    """Measure answers instead of searches."""
    calibrate: bool = False
    """Also score the answerability of each question, by a second search."""

    @property
    def chunks(self) -> int:
        return self.k or (ANSWER_CHUNKS if self.helpful else STANDARD_DEPTH)


@dataclass(frozen=True, slots=True)
class Evaluation:
    results: tuple[Measured, ...]
    policy: RefusalPolicy = field(default_factory=RefusalPolicy)
    """The thresholds in use."""
    missing: tuple[str, ...] = ()
    """Gold files that are not in the index, so that no search can find them."""


@dataclass(frozen=True, slots=True)
class Evaluate:
    answering: AnswerQuestion
    index: VectorIndex
    clock: Callable[[], float] = perf_counter
    """Returns seconds."""

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
        return Evaluation(tuple(results), self.answering.refusal_policy, missing)

    async def _measured(self, question: Question, request: EvaluationRequest) -> Measured:
        asked = replace(ask_request(question, request.book), k=request.chunks)
        scored = request.helpful or request.calibrate
        consult = self.answering.consult
        read = await consult.read(asked) if scored else None
        started = self.clock()
        if read and request.helpful:
            answer = await self.answering.answer(asked)
            elapsed = self.clock() - started
            found = judge_answer(question, answer, read.found.hits)
        else:
            # nDCG needs ten hits; more hits than k do not change the first k.
            depth = max(asked.k, NDCG_DEPTH)
            result = await consult.retrieve.search(replace(asked, k=depth))
            elapsed = self.clock() - started
            found = self._judged(question, result, asked.k)
        score = read.score if read else None
        return replace(found, answerability=score, milliseconds=elapsed * 1000)

    def _judged(self, question: Question, found: RetrievalResult, k: int) -> Measured:
        consult = self.answering.consult
        context = consult.retrieve.context(found.hits[:k], consult.context_tokens)
        tokens = float(sum(one.tokens for one in context)) if question.answerable else None
        ranking = ranking_of(found.hits)
        return Measured(
            question,
            retrieval_metrics(question, ranking, k) | {"context_tokens": tokens},
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
        lost = [one.question for one in results if one.details.get("rank") == 0]
        scopes = {
            file: replace(ask_request(one, request.book).filter, files=(file,))
            for one in lost
            for file in one.gold_files
        }
        return tuple([file for file, one in scopes.items() if not await self.index.matching(one)])


def ask_request(question: Question, book: BookId | None) -> AskRequest:
    """Return the question as a reader of `book`, or of its own book and file, would ask it."""
    asked = book or question.book
    scope = SearchFilter(
        books=(asked,) if asked else (),
        files=(question.filter_file,) if question.filter_file else (),
    )
    return AskRequest(question.question, filter=scope, history=question.history)
