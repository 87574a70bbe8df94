"""Small talk, requests for a part of the book, and replies, told from questions."""

import json

import pytest

from app.domain.answer import AnswerMode
from app.domain.answering.exercises import task_label
from app.domain.answering.intents import Here, about_the_book, intent_of, resumed
from app.domain.answering.request import AskRequest
from app.domain.languages import LANGUAGES, known_language
from app.domain.retrieval.query import Turn
from app.domain.terms import words
from tests.conftest import ROOT
from tests.fake_world import World, passage
from tests.recorded_cases import case_lines


def requested(question: str) -> str:
    """Return "kind language part" of the question's intent; "" if it has none."""
    intent = intent_of(words(question))
    if not intent:
        return ""
    number = intent.section or str(intent.chapter)
    part = intent.chapter.value if isinstance(intent.chapter, Here) else number
    part += f" {intent.title}" * bool(intent.title)
    return f"{intent.kind} {intent.language} {part}" + f".{intent.exercise}" * bool(intent.exercise)


@pytest.mark.parametrize(("question", "expected"), [*case_lines("requests"), ("", "")])
def test_a_request_names_its_part_of_the_book(question: str, expected: str) -> None:
    assert requested(question) == expected


@pytest.mark.parametrize("file", ["student_questions.jsonl", "sample_questions.jsonl"])
def test_no_question_of_the_development_sets_is_a_request(file: str) -> None:
    lines = (ROOT / "tests/data" / file).read_text("utf-8").splitlines()
    asked = [one for one in map(json.loads, lines) if one.get("half") != "final"]
    assert len(asked) > 40
    assert [one["question"] for one in asked if requested(one["question"])] == []


def test_each_language_of_requests_has_its_phrases() -> None:
    spoken = [one.notices for one in LANGUAGES.values() if one.requests]
    for asked in ("which_book", "which_chapter", "no_exercises"):
        assert len({getattr(one, asked) for one in spoken}) == len(spoken) > 1


async def test_small_talk_is_answered_without_a_search() -> None:
    world = World((passage("Owls say hello to each other.", "p-1"),))
    answer = await world.answering().answer(AskRequest("Hello there!"))
    assert (answer.mode, answer.refused) == (AnswerMode.SMALL_TALK, False)
    assert answer.answer
    assert (answer.citations, answer.sources, world.retriever.asked) == ((), (), [])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Exercise 4.2", (4, 2)),
        ("3. Exercise 10.3. Why does a cache improve the mean?", (10, 3)),
        ("Solution 4.2", (4, 2)),
        ("Übung 7", (7,)),
        ("练习 4.2", (4, 2)),
        ("Exercises", ()),
        ("The 3 laws of motion", ()),
    ],
)
def test_a_label_is_the_number_after_the_word_for_a_task(
    text: str, numbers: tuple[int, ...]
) -> None:
    assert task_label(passage(text)) == numbers


def turns(*texts: str) -> tuple[Turn, ...]:
    """Return a conversation that the user begins."""
    return tuple(Turn("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


CLARIFICATION = known_language("en").notices.which_chapter.format("1. Owls; 2. Bats")
ASIDES = ("thanks", "You are welcome!", "summarise the chapter", CLARIFICATION)


@pytest.mark.parametrize(
    ("said", "reply", "asked"),
    [
        ("Did you mean the inverted index?", "yes", "the inverted index?"),
        ('No. Did you mean "What is an owl?"?', "Yes, please!", "What is an owl?"),
        ("¿Quiso decir qué es un búho?", "sí", "qué es un búho?"),
        ("Meinten Sie: was ist eine Eule?", "Ja", "was ist eine Eule?"),
        ("Did you mean the inverted index?", "no", "no"),
        ("Did you mean the inverted index?", "What is a bat?", "What is a bat?"),
        ("Did you mean owls? They hunt.", "yes", "yes"),
        ("Owls hunt.", "yes", "yes"),
        (CLARIFICATION, "chapter 2", "summarise the chapter 2"),
        (CLARIFICATION, "what do bats hear", "what do bats hear"),
    ],
)
def test_a_reply_completes_what_the_assistant_asked(said: str, reply: str, asked: str) -> None:
    assert resumed(reply, turns("summarise the chapter", said)) == asked
    assert resumed(reply, ()) == reply


LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")


async def test_small_talk_and_clarifications_are_no_part_of_the_conversation() -> None:
    topic = turns("What is photosynthesis?", "A process.")
    assert about_the_book((*topic, Turn("user", "summarise chapter 4"))) != topic
    world = World((LIGHT,))
    history = (*topic, *turns(*ASIDES))
    await world.answering().answer(AskRequest("And what is its energy?", history=history))
    assert world.retriever.asked[0].history == topic


async def test_yes_is_answered_as_the_question_that_was_proposed() -> None:
    history = turns("fotosynthesis", "Did you mean photosynthesis?")
    answer = await World((LIGHT,)).answering().answer(AskRequest("yes", history=history))
    assert LIGHT.text in answer.answer
