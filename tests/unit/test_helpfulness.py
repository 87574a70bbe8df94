"""What counts as help: key facts shown, gold among the hits; and why a question is not served."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.domain.answer import Answer, AnswerMode, AnswerPassage, Confidence
from app.domain.book_id import BookId
from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.evaluation.measurement import Measured, by_kind, summary
from app.domain.evaluation.metrics import Retrieved, finds_all_gold, has_facts, shown_text
from app.services.evaluate import Evaluate, EvaluationRequest
from tests.fake_world import World, passage

LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")
ASKED = Question(
    "light",
    "What does photosynthesis turn light energy into?",
    "how",
    True,
    gold=(GoldSpan("page.md", 0, 55),),
    key_facts=("chemical energy",),
)
FOREIGN = Question("hockey", "Who won the hockey championship in Ottawa?", "off_topic", False)
BESIDE = replace(ASKED, id="beside", key_facts=("kinetic",))
ELSEWHERE = replace(BESIDE, id="elsewhere", gold=(GoldSpan("other.md", 0, 55),))
LOST = replace(ASKED, id="lost", question=FOREIGN.question)
NEAR = replace(FOREIGN, id="near", question=ASKED.question)


def measured(*questions: Question) -> Sequence[Measured]:
    world = World((LIGHT,))
    use_case = Evaluate(world.answering(), world.index, lambda: 0.0)
    request = EvaluationRequest(helpful=True)
    return asyncio.run(use_case.run(questions, request)).results


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("The CELL membrane", ["cell", "membranes?"], True),
        ("The cell wall", ["cell", "membrane"], False),
        ("a single\nfeature", ["single feature"], True),
        ("one\n\ntwo", [r"one\s+two", "one.two"], True),
        ("- one\n- two", [r"^- one\n- two"], True),
        ("anything", [], True),
    ],
)
def test_a_text_has_the_facts_when_each_pattern_matches(
    text: str, facts: Sequence[str], expected: bool
) -> None:
    assert has_facts(text, facts) is expected


@pytest.mark.parametrize(
    ("spans", "any_one", "all_of_them"),
    [([(0, 40)], True, False), ([(0, 40), (120, 140)], True, True), ([(50, 90)], False, False)],
)
def test_gold_is_found_by_any_place_or_where_the_answer_needs_all_by_all(
    spans: Sequence[tuple[int, int]], any_one: bool, all_of_them: bool
) -> None:
    question = replace(ASKED, gold=(GoldSpan("page.md", 0, 40), GoldSpan("page.md", 100, 140)))
    ranking = [Retrieved("page.md", (span,)) for span in spans]
    assert finds_all_gold(question, ranking) is any_one
    assert finds_all_gold(replace(question, gold_all=True), ranking) is all_of_them


def test_shown_are_the_passages_or_what_a_model_wrote_and_in_a_refusal_nothing() -> None:
    written = Answer("Light becomes sugar.", AnswerMode.GENERATED)
    shown = tuple(
        AnswerPassage(("p",), text, ("Page",), "https://book.example/#p", "p", BookId("book"))
        for text in ("Leaves take light in.", "They make sugar.")
    )
    refused = replace(written, confidence=Confidence.NOT_IN_BOOK)
    found = [shown_text(one) for one in (written, replace(written, passages=shown), refused)]
    assert found == ["Light becomes sugar.", "Leaves take light in.\n\nThey make sugar.", ""]


@pytest.mark.parametrize(
    ("question", "outcome", "failure"),
    [
        (ASKED, "answered", None),
        (BESIDE, "answered", "gold found, but a key fact is not shown"),
        (ELSEWHERE, "answered", "gold not among the hits"),
        (LOST, "refused", "answerable, but refused"),
        (FOREIGN, "refused", None),
        (NEAR, "answered", "unanswerable, but shown as an answer"),
    ],
    ids=lambda value: value.id if isinstance(value, Question) else "",
)
def test_each_failure_has_its_cause(question: Question, outcome: str, failure: str | None) -> None:
    (one,) = measured(question)
    assert (one.details["outcome"], one.details["failure"]) == (outcome, failure)


def test_means_are_over_the_questions_that_a_metric_applies_to() -> None:
    found = measured(ASKED, BESIDE, ELSEWHERE, LOST, FOREIGN, NEAR)
    means = summary(found)
    assert {name: value for name, value in means.items() if value} == {
        "n": 6,
        "answerable": 4,
        "citation_precision": 0.6667,
        "refused": 2,
        "facts_shown": 0.25,
        "words_shown": 7,  # of the three that show any
        "found": 0.75,
        "cited_gold": 0.5,
        "answerable_answered": 0.75,
        "answerable_refused": 0.25,
        "unanswerable_answered": 0.5,
        "unanswerable_refused": 0.5,
    }
    kinds = by_kind(found)
    assert summary(kinds["how"])["n"] == 4
    assert summary(kinds["off_topic"])["unanswerable_refused"] == 0.5
