"""Measure answers on questions with known answers: their citations and their refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.answer import Answer, AnswerMode, Citation
from app.domain.retrieval.metrics import Retrieved, score_ranking
from app.domain.retrieval.query import SearchFilter
from app.domain.retrieval.question import Question
from app.services.answer import ANSWER_CHUNKS, AnswerQuestion, AskRequest


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """`cited` and `right` count citations, a paragraph cited for two claims twice."""

    question: Question
    mode: AnswerMode
    cited: int
    right: int
    degraded: bool

    @property
    def refused(self) -> bool:
        return self.mode is AnswerMode.REFUSED


@dataclass(frozen=True, slots=True)
class AnswerEvaluation:
    results: tuple[AnsweredQuestion, ...]

    def summary(self) -> Mapping[str, float]:
        """Shares from 0 to 1; one of nothing is 0.

        A citation is right when its paragraph finds a gold (see `metrics`). Citation precision is
        over the citations of the answerable questions' answers; answer coverage is the share
        of the answerable questions with a right citation; a question is refused rightly when it
        is unanswerable.
        """
        answerable = [one for one in self.results if one.question.answerable]
        refused = [one for one in self.results if one.refused]
        rightly = sum(not one.question.answerable for one in refused)
        cited = sum(one.cited for one in answerable)
        return {
            "n": len(self.results),
            "answerable": len(answerable),
            "citation_precision": _share(sum(one.right for one in answerable), cited),
            "answer_coverage": _share(sum(one.right > 0 for one in answerable), len(answerable)),
            "refusal_precision": _share(rightly, len(refused)),
            "refusal_recall": _share(rightly, len(self.results) - len(answerable)),
            "refused": len(refused),
            "degraded": sum(one.degraded for one in self.results),
        }


@dataclass(frozen=True, slots=True)
class EvaluateAnswers:
    """The use case."""

    answer: AnswerQuestion

    async def run(
        self,
        questions: Sequence[Question],
        book: str = "",
        k: int = ANSWER_CHUNKS,
        advance: Callable[[int], None] = lambda _: None,
    ) -> AnswerEvaluation:
        """Ask every question in turn; `advance(1)` after each. `book` "" asks all books.

        Raises what `AnswerQuestion` raises.
        """
        results = []
        for question in questions:
            answer = await self.answer.answer(_ask_request(question, book, k))
            results.append(_judged(question, answer))
            advance(1)
        return AnswerEvaluation(tuple(results))


def _ask_request(question: Question, book: str, k: int) -> AskRequest:
    scope = SearchFilter(
        books=(book,) if book else (),
        files=(question.filter_file,) if question.filter_file else (),
    )
    return AskRequest(question.question, filter=scope, history=question.history, k=k)


def _judged(question: Question, answer: Answer) -> AnsweredQuestion:
    return AnsweredQuestion(
        question=question,
        mode=answer.mode,
        cited=len(answer.citations),
        right=sum(_is_right(question, one) for one in answer.citations),
        degraded=bool(answer.degraded),
    )


def _is_right(question: Question, citation: Citation) -> bool:
    paragraph = Retrieved(citation.file, citation.spans)
    return question.answerable and score_ranking(question, [paragraph], 1).first_hit > 0


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
