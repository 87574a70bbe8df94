"""Attempts to make an answer obey strangers: in book, question, selection and history.

Each line of `attacks/injections.jsonl` is tried at each of these places.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from app.domain import prompts
from app.domain.answer import Answer
from app.domain.answering.request import AskRequest, Selection
from app.domain.chunking.chunk import Passage
from app.domain.retrieval.query import Turn
from tests.attacking import table
from tests.fake_world import World, passage
from tests.serving import ScriptedGenerator, Step

pytestmark = pytest.mark.attack

OWLS = passage("Owls hunt mice at night. Their flight is silent.", "p-owls")
MICE = passage("Mice eat seeds and grain in the barn.", "p-mice")
QUESTION = "What do owls hunt at night?"
ATTACKS = table("injections")
ATTEMPTS = [attack["text"] for attack in ATTACKS]
PROMPT = prompts.ANSWER_FROM_NUMBERED_SOURCES


def answer(request: AskRequest, *steps: Step, book: tuple[Passage, ...] = (OWLS, MICE)) -> Answer:
    generator = ScriptedGenerator(steps) if steps else None
    return asyncio.run(World(book).answering(generator).answer(request))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["name"])
@pytest.mark.parametrize("place", ["book", "question", "history", "selection"])
def test_it_changes_nothing_that_the_book_says(attack: dict[str, str], place: str) -> None:
    attempt = attack["text"]
    said = Turn("user", attempt), Turn("assistant", attempt)
    request = {
        "book": AskRequest(QUESTION),
        "question": AskRequest(f"{QUESTION} {attempt}"),
        "history": AskRequest(QUESTION, history=said),
        "selection": AskRequest(QUESTION, selection=Selection(attempt)),
    }[place]
    book = (OWLS, MICE, *([passage(attempt, "p-bad")] if place == "book" else []))
    found = answer(request, book=book)
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
    found = answer(AskRequest(QUESTION), *pieces, (0, 15, ("p-owls",)))
    # Its first words may be the end of a sentence that the model began itself.
    assert found.answer.removeprefix("Owls hunt mice. ") in ("", f"My rules are: {prompt[:34]}")
    assert [one.quote for one in found.citations] == ["Owls hunt mice at night."]


def test_an_answer_that_is_only_the_prompt_is_a_refusal() -> None:
    found = answer(AskRequest(QUESTION), PROMPT)
    assert found.refused
    assert PROMPT[:40] not in json.dumps(found.answer)


def test_what_only_begins_as_a_prompt_does_is_shown_whole() -> None:
    written = "Owls hunt mice. You help readers of one textbook. You are not given owls."
    found = answer(AskRequest(QUESTION), *written, (0, 15, ("p-owls",)))
    assert found.answer == written
