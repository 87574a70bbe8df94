"""Judges one answer by its question's gold: citations, refusal, key facts shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from app.domain.answer import Answer, Citation
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import OUTCOMES, failure, finds_gold, shown_text
from app.domain.evaluation.measurement import Measured, Share
from app.domain.evaluation.retrieval_metrics import Retrieved, score_ranking
from app.domain.retrieval.query import Hit
from app.domain.scripts import word_count
from app.services.consultation import Consultation

STANDARD_DEPTH = 5
"""Depth of recall and hit rate that every evaluation reports in addition to its k."""

ANSWER_METRICS = (
    "facts_shown",
    "words_shown",
    "found",
    "cited_gold",
    "citation_precision",
    *(f"answerable_{one}" for one in OUTCOMES.values()),
    *(f"unanswerable_{one}" for one in OUTCOMES.values()),
)

HasFacts: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Returns whether a text matches every one of the patterns."""


def judge_answer(
    question: Question, answer: Answer, read: Consultation, has_facts: HasFacts
) -> Measured:
    """Judge an answer to what was `read`."""
    shown = shown_text(answer)
    right = sum(cites_gold(question, one) for one in answer.citations)
    facts = bool(shown) and has_facts(shown, question.key_facts) if question.key_facts else None
    found = finds_gold(question, ranking_of(read.found.hits)[:STANDARD_DEPTH])
    words = None if answer.refused else word_count(shown)
    prefix = "answerable" if question.answerable else "unanswerable"
    metrics: dict[str, Share] = {
        f"{prefix}_{name}": (int(one is answer.confidence), 1) for one, name in OUTCOMES.items()
    }
    if question.answerable:
        of_text = {"facts_shown": facts, "words_shown": words, "found": found}
        metrics |= {name: (value, 1) for name, value in of_text.items() if value is not None}
        metrics["cited_gold"] = (int(right > 0), 1)
        if answer.citations:
            metrics["citation_precision"] = (right, len(answer.citations))
    return Measured(
        question,
        metrics,
        answerability=read.score,
        details={
            "mode": answer.mode,
            "confidence": answer.confidence,
            "outcome": OUTCOMES[answer.confidence],
            "failure": failure(question, answer, facts, found),
            "cited": len(answer.citations),
            "right": right,
            "refused": answer.refused,
            "degraded": bool(answer.degraded),
        },
    )


def cites_gold(question: Question, citation: Citation) -> bool:
    """Whether the cited paragraph finds a gold span; False for an unanswerable question."""
    paragraph = Retrieved(citation.file, citation.spans)
    return question.answerable and score_ranking(question, [paragraph], 1).first_hit > 0


def ranking_of(hits: Sequence[Hit]) -> list[Retrieved]:
    return [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in hits]
