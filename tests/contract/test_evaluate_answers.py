"""How answers and refusals are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from app.domain.evaluation.gold_question import GoldSpan, Question
from tests.answer_fakes import World, passage
from tests.evaluating import evaluated

LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")
LEAVES = passage("Leaves hold most of the chloroplasts of a plant.", "p-leaves")
ASKED = "What does photosynthesis turn light energy into?"
FOREIGN = "Who won the hockey championship in Ottawa?"


def question(name: str, text: str, gold: tuple[int, int] | None) -> Question:
    spans = (GoldSpan("page.md", *gold),) if gold else ()
    return Question(name, text, "factual", answerable=gold is not None, gold=spans)


RIGHT = question("right", ASKED, (0, 55))
BESIDE = question("beside", ASKED, (900, 950))
REFUSED = question("refused", FOREIGN, (0, 55))
UNANSWERABLE = question("unanswerable", FOREIGN, None)
ANSWERED_ANYWAY = question("answered", ASKED, None)


def summary(questions: Sequence[Question]) -> Mapping[str, float]:
    return evaluated(World((LIGHT, LEAVES)), questions).summary()


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([RIGHT], {"citation_precision": 1.0, "cited_gold": 1.0, "refused": 0}),
        ([RIGHT, BESIDE], {"citation_precision": 0.5, "cited_gold": 0.5}),
        ([RIGHT, REFUSED], {"citation_precision": 1.0, "cited_gold": 0.5}),
        ([UNANSWERABLE, RIGHT], {"unanswerable_refused": 1.0, "answerable_refused": 0.0}),
        ([UNANSWERABLE, REFUSED], {"unanswerable_refused": 1.0, "answerable_refused": 1.0}),
        (
            [UNANSWERABLE, ANSWERED_ANYWAY],
            {"unanswerable_refused": 0.5},
        ),
        ([UNANSWERABLE], {"n": 1, "answerable": 0, "citation_precision": 0.0}),
    ],
)
def test_citations_and_refusals_are_judged(
    questions: Sequence[Question], expected: Mapping[str, float]
) -> None:
    found = summary(questions)
    assert {name: found[name] for name in expected} == expected
