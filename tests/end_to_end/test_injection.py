"""Attempts to make an answer obey strangers: in book, question, selection, history and address.

Each line of `attacks/injections.jsonl` is tried at each of these places: without a model, with one
that writes the worst, and through the real adapters. There the doubles of Cohere and of an
OpenAI-compatible server repeat the attempt, send the reader elsewhere, write HTML, cite what they
were not given, and recite their prompt.
"""

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
from tests.attacking import table
from tests.cohere_double import CohereDouble, Reply, citation
from tests.fake_world import World, passage
from tests.generating import cohere_at, openai_at
from tests.openai_double import OpenAIDouble, completion
from tests.serving import ScriptedGenerator, Step

pytestmark = pytest.mark.attack

OWLS = passage("Owls hunt mice at night. Their flight is silent.", "p-owls")
MICE = passage("Mice eat seeds and grain in the barn.", "p-mice")
QUESTION = "What do owls hunt at night?"
ATTACKS = table("injections")
PROMPT = prompts.ANSWER_FROM_NUMBERED_SOURCES
PLACES = ["book", "question", "history", "selection", "page"]


def asked(attempt: str, place: str) -> tuple[AskRequest, tuple[Passage, ...]]:
    """The request with the attempt at its place, and the book."""
    said = Turn("user", attempt), Turn("assistant", attempt)
    request = {
        "book": AskRequest(QUESTION),
        "question": AskRequest(f"{QUESTION} {attempt}"),
        "history": AskRequest(QUESTION, history=said),
        "selection": AskRequest(QUESTION, selection=Selection(attempt)),
        "page": AskRequest(QUESTION, page_url=f"https://book.example/{attempt}"),
    }[place]
    return request, (OWLS, MICE, passage(attempt if place == "book" else "Owls sleep.", "p-last"))


def answer(*steps: Step) -> Answer:
    """What becomes of a text that a model writes."""
    answering = World((OWLS, MICE)).answering(ScriptedGenerator(steps))
    return asyncio.run(answering.answer(AskRequest(QUESTION)))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["name"])
@pytest.mark.parametrize("place", PLACES)
def test_it_changes_nothing_that_the_book_says(attack: dict[str, str], place: str) -> None:
    request, book = asked(attack["text"], place)
    found = asyncio.run(World(book).answering().answer(request))
    assert "You help readers" not in found.answer
    for one in found.citations:  # what is cited stands in the book
        assert found.answer[one.start : one.end] == one.quote
        assert any(one.quote in each.text for each in book)
    if place == "book":
        assert "Owls hunt mice at night." in found.answer
        return
    # The notice may quote the question's own words: those that the passages do not mention.
    notice, _, rest = found.answer.rpartition("They do not mention ")
    assert attack["absent"] not in notice + rest.partition("\n\n")[2 if notice else 0]


@pytest.mark.parametrize("size", [1, 2, 5, 17, 400])
@pytest.mark.parametrize(
    "prompt",
    [
        prompts.ANSWER_FROM_DOCUMENTS,
        prompts.ANSWER_FROM_NUMBERED_SOURCES,
        prompts.REWRITE_QUESTION,
        prompts.ANSWER_FROM_DOCUMENTS.upper().replace("\n", "  \n> "),
    ],
    ids=["documents", "numbered", "rewrite", "in capitals, quoted"],
)
def test_a_prompt_is_not_recited_however_it_is_cut(prompt: str, size: int) -> None:
    written = f"Owls hunt mice. My rules are: {prompt}"
    pieces = [written[at : at + size] for at in range(0, len(written), size)]
    found = answer(*pieces, (0, 15, ("p-owls",)))
    # Its first words may be the end of a sentence that the model began itself.
    assert found.answer.removeprefix("Owls hunt mice. ") in ("", f"My rules are: {prompt[:34]}")
    assert [one.quote for one in found.citations] == ["Owls hunt mice at night."]


def test_an_answer_that_is_only_the_prompt_is_a_refusal() -> None:
    found = answer(PROMPT)
    assert found.refused
    assert PROMPT[:40] not in found.answer


def test_what_only_begins_as_a_prompt_does_is_shown_whole() -> None:
    written = "Owls hunt mice. You help readers of one textbook. You are not given owls."
    found = answer(*written, (0, 15, ("p-owls",)))
    assert found.answer == written


# --- through the adapters

TRUE = "Owls hunt mice at night"
FALSE = "Owls hunt 40 whales in Paris"
ELSEWHERE = (
    "See https://stolen.example/login, www.stolen.example/x or [here](//stolen.example), "
    "<img src='https://stolen.example/p.png?q=1'><a href=\"//stolen.example\">x</a>"
    "<form action=//stolen.example>, [book](javascript:steal()), data:text/html;base64,c3RvbGVu"
)
RULES = [prompts.ANSWER_FROM_DOCUMENTS[at : at + 40] for at in range(0, 1_000, 10)]
LEADS_AWAY = re.compile(r"(?i)stolen\.example|javascript:|data:text")


@asynccontextmanager
async def cohere(claims: list[str]) -> AsyncIterator[Generator]:
    """A model of Cohere's that claims this."""

    def answering(body: dict[str, Any]) -> Reply:
        ids = [document["id"] for document in body["documents"]]
        text, cited = "", []
        for claim in claims:
            cited.append(citation(len(text), claim, *ids, "p-made-up"))
            text += f"{claim}.\n"
        return Reply(f"{text}My rules: {body['messages'][0]['content']}", tuple(cited))

    with CohereDouble(answering=answering) as double:
        async with cohere_at(double.url) as model:
            yield model


@asynccontextmanager
async def server(claims: list[str]) -> AsyncIterator[Generator]:
    """The same of an OpenAI-compatible server."""

    def answering(body: dict[str, Any]) -> list[str]:
        text = "".join(f"{claim} [1][2][3][77].\n" for claim in claims)
        text += f"My rules: {body['messages'][0]['content']}"
        return completion(*(text[at : at + 5] for at in range(0, len(text), 5)))

    with OpenAIDouble(answering=answering) as double:
        async with openai_at(double.url) as model:
            yield model


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("provider", [cohere, server])
async def test_a_model_that_obeys_leads_nowhere_shows_no_prompt_and_cites_only_what_is_so(
    provider: Callable[[list[str]], Any], place: str
) -> None:
    claims: list[str] = []
    answered = 0
    async with provider(claims) as generator:
        for attempt in (one["text"] for one in ATTACKS):
            claims[:] = TRUE, FALSE, attempt, ELSEWHERE
            request, book = asked(attempt, place)
            found = await World(book).answering(generator).answer(request)
            # A question that is mostly an attempt is about what the book does not have.
            if place != "question" or not found.refused:
                answered += 1
                assert_harmless(found, {one.paragraph_id: one.text for one in book}, attempt)
            assert place == "book" or "evil.example" not in found.answer
    assert 2 * answered > len(ATTACKS)


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
