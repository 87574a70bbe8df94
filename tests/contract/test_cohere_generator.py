"""Cohere chat: text, citations, one end or an error."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.adapters.providers.cohere_chat import CohereGenerator
from app.domain.generated_text.model_text import GeneratedCitation, GeneratedEnd
from app.domain.prompts import NO_ANSWER
from tests.cohere_double import CohereDouble
from tests.generating import CONTEXT, answer, cohere_at, given, text_of


@pytest.fixture
async def model(double: CohereDouble) -> AsyncIterator[CohereGenerator]:
    async with cohere_at(double.url) as opened:
        yield opened


@pytest.mark.parametrize("first", [True, False])
async def test_citations_cover_the_cited_words_in_whichever_order_they_come(
    model: CohereGenerator, double: CohereDouble, *, first: bool
) -> None:
    """Also past characters that UTF-16 or UTF-8 would count as more than one."""
    double.citations_first = first
    context = (CONTEXT[1], CONTEXT[0])

    question = "Which naïve plant stores light energy?"
    events = await answer(model, context, question=question)
    text = text_of(events)
    cited = {
        text[event.start :][: len(event.words)]: event.paragraph_ids
        for event in events
        if isinstance(event, GeneratedCitation)
    }
    assert cited == {
        "The naïve 🌿-type plant 🌱 stores energy": ("p-two",),
        "Chlorophyll captures light energy in the chloroplast": ("p-one",),
    }


async def test_pieces_of_one_paragraph_have_ids_of_their_own_and_cite_the_paragraph(
    model: CohereGenerator, double: CohereDouble
) -> None:
    context = (
        given("p-one", "Chlorophyll captures energy."),
        given("p-one", "Light energy reaches the chloroplast."),
    )

    events = await answer(model, context)
    cited = [event for event in events if isinstance(event, GeneratedCitation)]
    assert {event.paragraph_ids for event in cited} == {("p-one",)}
    names = [document["id"] for document in double.to("chat")[0].body["documents"]]
    assert len(set(names)) == 2


async def test_when_the_documents_hold_no_answer_the_end_says_so_and_no_text_does(
    model: CohereGenerator,
) -> None:
    events = await answer(model, question="Who won the cup?")
    (end,) = events
    assert isinstance(end, GeneratedEnd)
    assert end.finish_reason == NO_ANSWER
