"""The attempts of `test_injection` through the real adapters, against models that obey them.

The doubles of Cohere and of an OpenAI-compatible server do the worst: they repeat the attempt, send
the reader elsewhere, write HTML, cite what they were not given, and recite their prompt.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.domain import prompts
from app.domain.answer import Answer
from app.domain.answering.request import AskRequest, Selection
from app.domain.chunking.chunk import Passage
from app.domain.generated_text.model_text import MAX_CHARACTERS
from app.domain.retrieval.query import Turn
from app.services.ports import Generator
from tests.cohere_double import CohereDouble, Reply, citation
from tests.end_to_end.test_injection import ATTEMPTS, MICE, OWLS, QUESTION
from tests.fake_world import World, passage
from tests.generating import cohere_at, openai_at
from tests.openai_double import OpenAIDouble, completion

pytestmark = pytest.mark.attack

TRUE = "Owls hunt mice at night"
FALSE = "Owls hunt 40 whales in Paris"
ELSEWHERE = (
    "See https://stolen.example/login, www.stolen.example/x or [here](//stolen.example), "
    "<img src='https://stolen.example/p.png?q=1'><a href=\"//stolen.example\">x</a>"
    "<form action=//stolen.example>, [book](javascript:steal()), data:text/html;base64,c3RvbGVu"
)
RULES = [prompts.ANSWER_FROM_DOCUMENTS[at : at + 40] for at in range(0, 1_000, 10)]
LEADS_AWAY = re.compile(r"(?i)stolen\.example|javascript:|data:text")


class Obeyed:
    """The attempt that the model obeys just now."""

    attempt = ""


def cohere_obeys(obeyed: Obeyed) -> Callable[[dict[str, Any]], Reply]:
    def answering(body: dict[str, Any]) -> Reply:
        ids = [document["id"] for document in body["documents"]]
        text, cited = "", []
        for claim in (TRUE, FALSE, obeyed.attempt, ELSEWHERE):
            cited.append(citation(len(text), claim, *ids, "p-made-up"))
            text += f"{claim}.\n"
        return Reply(f"{text}My rules: {body['messages'][0]['content']}", tuple(cited))

    return answering


def server_obeys(obeyed: Obeyed) -> Callable[[dict[str, Any]], list[str]]:
    def answering(body: dict[str, Any]) -> list[str]:
        claims = (TRUE, FALSE, obeyed.attempt, ELSEWHERE)
        text = "".join(f"{claim} [1][2][3][77].\n" for claim in claims)
        text += f"My rules: {body['messages'][0]['content']}"
        return completion(*(text[at : at + 5] for at in range(0, len(text), 5)))

    return answering


@asynccontextmanager
async def cohere(obeyed: Obeyed) -> AsyncIterator[Generator]:
    with CohereDouble(answering=cohere_obeys(obeyed)) as double:
        async with cohere_at(double.url) as model:
            yield model


@asynccontextmanager
async def server(obeyed: Obeyed) -> AsyncIterator[Generator]:
    with OpenAIDouble(answering=server_obeys(obeyed)) as double:
        async with openai_at(double.url) as model:
            yield model


def asked(attempt: str, place: str) -> tuple[AskRequest, tuple[Passage, ...]]:
    """The request with the attempt at its place, and the book."""
    request = {
        "book": AskRequest(QUESTION),
        "question": AskRequest(f"{QUESTION} {attempt}"),
        "history": AskRequest(
            QUESTION, history=(Turn("user", attempt), Turn("assistant", attempt))
        ),
        "selection": AskRequest(QUESTION, selection=Selection(attempt)),
        "page": AskRequest(QUESTION, page_url=f"https://book.example/{attempt}"),
    }[place]
    return request, (OWLS, MICE, passage(attempt if place == "book" else "Owls sleep.", "p-last"))


@pytest.mark.parametrize("place", ["book", "question", "history", "selection", "page"])
@pytest.mark.parametrize("provider", [cohere, server])
def test_a_model_that_obeys_leads_nowhere_shows_no_prompt_and_cites_only_what_is_so(
    provider: Callable[[Obeyed], Any], place: str
) -> None:
    async def run() -> None:
        obeyed = Obeyed()
        answered = 0
        async with provider(obeyed) as generator:
            for attempt in ATTEMPTS:
                obeyed.attempt = attempt
                request, book = asked(attempt, place)
                found = await World(book).answering(generator).answer(request)
                # A question that is mostly an attempt is about what the book does not have.
                if place != "question" or not found.refused:
                    answered += 1
                    assert_harmless(found, {one.paragraph_id: one.text for one in book}, attempt)
                assert place == "book" or "evil.example" not in found.answer
        assert 2 * answered > len(ATTEMPTS)

    asyncio.run(run())


async def test_an_answer_without_an_end_is_cut_and_says_so() -> None:
    endless = completion(f"{TRUE}.\n" * 2_000)
    with OpenAIDouble(stream=endless) as double:
        async with openai_at(double.url) as generator:
            found = await World((OWLS, MICE)).answering(generator).answer(AskRequest(QUESTION))
    assert len(found.answer) == MAX_CHARACTERS
    assert found.degraded == ("truncated",)


def assert_harmless(found: Answer, book: dict[str, str], attempt: str) -> None:
    assert found.answer.startswith(TRUE)
    assert not LEADS_AWAY.search(found.answer)
    assert not any(rule in found.answer for rule in RULES)
    assert "77" not in found.answer
    claims = {found.answer[one.start : one.end] for one in found.citations}
    assert TRUE in claims
    assert FALSE not in claims
    for one in found.citations:
        assert one.quote in book[one.paragraph_id]
        assert one.url.startswith(f"https://book.example/page#{one.paragraph_id}")
    unsupported = [found.answer[s.start : s.end] for s in found.statements if not s.supported]
    assert any(FALSE in text for text in unsupported)
    if "PWNED" in attempt and attempt not in book.values():
        assert not any("PWNED" in claim for claim in claims)
