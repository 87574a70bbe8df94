"""Metrics of one answer by its question's gold: outcome, key facts shown, citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.domain.answer import Answer, Confidence
from app.domain.evaluation.measurement import Measured, Question
from app.domain.evaluation.retrieval_metrics import STANDARD_DEPTH, Retrieved, first_hit, ranking_of
from app.domain.retrieval.query import Hit
from app.domain.terms import word_count

OUTCOMES = ("answered", "uncertain", "refused")


def judge_answer(question: Question, answer: Answer, hits: Sequence[Hit]) -> Measured:
    """Measure an answer made from these hits."""
    shown, outcome = shown_text(answer), "refused" if answer.refused else answer.confidence.value
    cited = (Retrieved(one.file, one.spans) for one in answer.citations)
    right = sum(question.answerable and first_hit(question, [one]) for one in cited)
    facts = bool(shown) and has_facts(shown, question.key_facts) if question.key_facts else None
    found = question.answerable and finds_all_gold(question, ranking_of(hits)[:STANDARD_DEPTH])
    metrics: dict[str, float | None] = {
        f"{sort}_{one}": float(one == outcome) if question.answerable is answerable else None
        for sort, answerable in (("answerable", True), ("unanswerable", False))
        for one in OUTCOMES
    }
    of_answerable = {
        "facts_shown": facts,
        "words_shown": None if answer.refused else word_count(shown),
        "found": found,
        "citation_precision": right / len(answer.citations) if answer.citations else None,
        "cited_gold": right > 0,
    }
    for name, value in of_answerable.items():
        metrics[name] = None if value is None or not question.answerable else float(value)
    return Measured(
        question,
        metrics,
        details={
            "mode": answer.mode,
            "confidence": answer.confidence,
            "outcome": outcome,
            "failure": _failure(question, answer, facts, found=found),
            "cited": len(answer.citations),
            "right": right,
            "refused": answer.refused,
            "degraded": bool(answer.degraded),
        },
    )


def _failure(
    question: Question, answer: Answer, facts_shown: bool | None, *, found: bool
) -> str | None:
    """Return the first reason why a question was not helped; None if it was."""
    if not question.answerable:
        answered = answer.confidence is Confidence.ANSWERED
        return "unanswerable, but shown as an answer" if answered else None
    if answer.refused:
        return "answerable, but refused"
    if facts_shown is not False:
        return None
    return "gold found, but a key fact is not shown" if found else "gold not among the hits"


def shown_text(answer: Answer) -> str:
    """The passages, or the answer's text if it has no passages; "" in a refusal."""
    if answer.refused:
        return ""
    return "\n\n".join(passage.text for passage in answer.passages) or answer.answer


def finds_all_gold(question: Question, ranking: Sequence[Retrieved]) -> bool:
    """Whether the ranking finds a gold span, or all of them if the question `needs_all_gold`."""
    if not question.needs_all_gold:
        return first_hit(question, ranking) > 0
    return all(first_hit(replace(question, gold=(gold,)), ranking) for gold in question.gold)


def has_facts(text: str, key_facts: Sequence[str]) -> bool:
    """Whether every pattern matches, ignoring case. A space in it also matches a line break."""
    forms = (text, " ".join(text.split()))
    patterns = [re.compile(fact, re.IGNORECASE | re.DOTALL) for fact in key_facts]
    return all(any(map(one.search, forms)) for one in patterns)
