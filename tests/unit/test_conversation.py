"""Replies to the assistant's questions, and follow-ups after small talk and clarifications."""

from __future__ import annotations

import pytest

from app.domain.answering.conversation import about_the_book, resumed
from app.domain.answering.notices import WHICH_CHAPTER
from app.domain.answering.request import AskRequest
from app.domain.retrieval.query import Turn
from tests.answer_fakes import World, passage


def turns(*texts: str) -> tuple[Turn, ...]:
    """Return a conversation that the user begins."""
    roles = ("user", "assistant")
    return tuple(Turn(roles[at % 2], text) for at, text in enumerate(texts))


CLARIFICATION = WHICH_CHAPTER["en"].format("1. Owls; 2. Bats")


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


def test_a_question_without_a_conversation_stays() -> None:
    assert resumed("yes", ()) == "yes"


def test_small_talk_and_clarifications_are_no_part_of_the_conversation() -> None:
    topic = turns("What is an owl?", "A bird.")
    asides = turns("thanks", "You are welcome!", "summarise the chapter", CLARIFICATION)
    assert about_the_book((*topic, *asides)) == topic
    assert about_the_book((*topic, Turn("user", "summarise chapter 4"))) != topic


LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")


async def test_a_follow_up_after_a_clarification_keeps_its_topic() -> None:
    world = World((LIGHT,))
    history = turns("What is photosynthesis?", "A process.", "summarise the chapter", CLARIFICATION)
    await world.answering().answer(AskRequest("And what is its energy?", history=history))
    assert [turn.content for turn in world.retriever.asked[0].history] == [
        "What is photosynthesis?",
        "A process.",
    ]


async def test_yes_is_answered_as_the_question_that_was_proposed() -> None:
    history = turns("fotosynthesis", "Did you mean photosynthesis?")
    answer = await World((LIGHT,)).answering().answer(AskRequest("yes", history=history))
    assert LIGHT.text in answer.answer
