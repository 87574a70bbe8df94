"""The generators over HTTP, against the doubles of their servers, and paragraphs to write from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.adapters.providers.cohere_chat import CohereGenerator
from app.adapters.providers.openai_chat import OpenAIGenerator, open_server
from app.domain.generated_text.events import GeneratedText, GeneratorEvent
from app.domain.retrieval.query import ContextPassage, Turn
from app.services.ports import GenerationRequest, Generator
from tests.cohere_double import CohereDouble
from tests.cohere_world import connected
from tests.fake_world import context_of, passage
from tests.provider_fakes import free_calls

QUESTION = "What captures light energy in the chloroplast?"


def given(paragraph_id: str, text: str, *path: str) -> ContextPassage:
    (one,) = context_of(passage(text, paragraph_id, heading_path=path or ("Cells",)))
    return one


CONTEXT = (
    given("p-one", "Water moves. Chlorophyll captures light energy in the chloroplast.", "A", "B"),
    given("p-two", "The naïve 🌿-type plant 🌱 stores energy."),
    given("p-six", "Nothing of this belongs here."),
)


@asynccontextmanager
async def cohere_at(double: CohereDouble, seconds: float = 10.0) -> AsyncIterator[CohereGenerator]:
    """A model that waits `seconds` for each event."""
    async with connected(double) as world:
        calls = free_calls(), free_calls()
        yield CohereGenerator(
            world.client.provider, *calls, "command-a-03-2025", event_seconds=seconds
        )


@asynccontextmanager
async def openai_at(
    url: str, key: str | None = None, seconds: float = 10.0, **options: Any
) -> AsyncIterator[OpenAIGenerator]:
    """A model that waits `seconds` for each part of an answer."""
    async with open_server(url, key) as server:
        calls = free_calls(), free_calls()
        yield OpenAIGenerator(
            server,
            *calls,
            **{"model": "llama", **options},
            first_seconds=seconds,
            chunk_seconds=seconds,
        )


async def answer(
    model: Generator,
    context: Sequence[ContextPassage] = CONTEXT,
    history: Sequence[Turn] = (),
    question: str = QUESTION,
) -> list[GeneratorEvent]:
    return [one async for one in model.generate(GenerationRequest(question, history, context))]


def text_of(events: Sequence[GeneratorEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, GeneratedText))
