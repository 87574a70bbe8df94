"""Greetings and thanks are answered kindly, and nothing is searched for."""

from __future__ import annotations

import pytest

from app.domain.answer import AnswerMode
from app.domain.answering.intents import intent_of
from app.domain.answering.request import AskRequest
from app.domain.terms import words
from tests.answer_fakes import World, passage


@pytest.mark.parametrize(
    "said", ["hi", "Hello there!", "Thanks a lot", "ok thanks", "¡Hola!", "Vielen Dank", "merci"]
)
async def test_small_talk_is_answered_without_a_search(said: str) -> None:
    world = World((passage("Owls say hello to each other.", "p-1"),))
    answer = await world.answering().answer(AskRequest(said))
    assert (answer.mode, answer.refused) == (AnswerMode.SMALL_TALK, False)
    assert answer.answer
    assert (answer.citations, answer.sources, world.retriever.asked) == ((), (), [])


@pytest.mark.parametrize(
    "question", ["hello world", "How are you able to fly?", "thanks to what do owls fly?", "?"]
)
def test_a_question_is_no_small_talk(question: str) -> None:
    assert intent_of(words(question)) is None
