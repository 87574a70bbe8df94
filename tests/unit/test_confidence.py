"""Answered, uncertain or not in the book: what the score, a model and an outage make of it."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.answer import Answer, AnswerMode, Confidence
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.request import AskRequest
from app.domain.errors import ProviderUnavailable
from app.domain.prompts import NO_ANSWER
from app.services.answer_question import AnswerQuestion
from tests.answer_fakes import FakeGenerator, World, passage

LIGHT = passage(
    "Photosynthesis turns light energy into chemical energy. It takes place in chloroplasts.",
    "p-light",
)
QUESTION = "What does photosynthesis turn light energy into?"
NOTICE = "The book may not say this."
CITED = FakeGenerator(["Plants turn light energy into chemical energy.", (12, 24, ("p-light",))])
UNSUPPORTED = FakeGenerator(["Owls hunt mice in the dark of winter."])
DOWN = FakeGenerator([ProviderUnavailable("down")])
SILENT = FakeGenerator([], finish_reason=NO_ANSWER)


def ask(use_case: AnswerQuestion, question: str = QUESTION) -> Answer:
    return asyncio.run(use_case.answer(AskRequest(question)))


@pytest.mark.parametrize(
    ("score", "other_language", "confidence"),
    [
        (0.1, False, Confidence.NOT_IN_BOOK),
        (0.1, True, Confidence.UNCERTAIN),
        (0.2, False, Confidence.UNCERTAIN),
        (0.7, False, Confidence.ANSWERED),
        (0.7, True, Confidence.ANSWERED),
    ],
)
def test_two_thresholds_make_three_answers(
    score: float, other_language: bool, confidence: Confidence
) -> None:
    policy = RefusalPolicy(0.2, 0.7)
    assert policy.confidence(score, other_language=other_language) is confidence


def test_only_what_is_not_in_the_book_is_refused() -> None:
    for one in Confidence:
        answer = Answer("", AnswerMode.EXTRACTIVE, one)
        assert answer.refused is (one is Confidence.NOT_IN_BOOK)


def test_an_uncertain_question_gets_the_same_passages_under_a_notice() -> None:
    certain = ask(World((LIGHT,)).answering())
    uncertain = ask(World((LIGHT,)).answering(answer_threshold=1.0))
    assert (certain.confidence, uncertain.confidence) == (
        Confidence.ANSWERED,
        Confidence.UNCERTAIN,
    )
    assert uncertain.passages == certain.passages
    assert uncertain.answer.startswith(NOTICE)
    assert uncertain.answer.endswith(certain.answer)
    told = [uncertain.answer[one.start : one.end] for one in uncertain.citations]
    assert told == [certain.answer[one.start : one.end] for one in certain.citations]
    assert [uncertain.answer[one.start : one.end] for one in uncertain.statements] == told


@pytest.mark.parametrize(
    ("generator", "mode", "confidence", "degraded"),
    [
        (CITED, AnswerMode.GENERATED, Confidence.ANSWERED, ()),
        (UNSUPPORTED, AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN, ("unsupported",)),
        (DOWN, AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN, ("generator",)),
        (SILENT, AnswerMode.REFUSED, Confidence.NOT_IN_BOOK, ()),
    ],
    ids=["cited", "unsupported", "down", "no answer"],
)
def test_a_model_gets_uncertain_questions_and_may_settle_them(
    generator: FakeGenerator, mode: AnswerMode, confidence: Confidence, degraded: tuple[str, ...]
) -> None:
    answer = ask(World((LIGHT,)).answering(generator, answer_threshold=1.0))
    assert (answer.mode, answer.confidence, answer.degraded) == (mode, confidence, degraded)
    assert answer.answer.startswith(NOTICE) == (confidence is Confidence.UNCERTAIN)
    assert bool(answer.passages) == (confidence is Confidence.UNCERTAIN)


def test_where_score_and_model_disagree_the_passages_are_shown_as_uncertain() -> None:
    answer = ask(World((LIGHT,)).answering(SILENT))
    assert (answer.mode, answer.confidence) == (AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN)
    assert answer.answer.startswith(NOTICE)
    assert answer.passages
    assert answer.degraded == ()
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)


HARMONY = passage("Harmony joins notes into chords, as Bach did in every piece.", "p-harmony")


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("How does harmony join notes into chords?", ""),
        ("How does Bach join notes into chords?", ""),
        ("I'm new to this. How does harmony join notes into chords?", ""),
        ("I write PHP for my school. How does harmony join notes into chords?", ""),
        ("How does Chopin join notes into chords?", "They do not mention \u201cChopin\u201d."),
    ],
)
def test_a_name_that_no_passage_has_makes_an_answer_uncertain_and_is_told(
    question: str, lacking: str
) -> None:
    answer = ask(World((HARMONY, LIGHT)).answering(refusal_threshold=0.0), question)
    assert answer.confidence is (Confidence.UNCERTAIN if lacking else Confidence.ANSWERED)
    assert lacking in answer.answer.partition("\n\n")[0]
