"""The generators over HTTP, against the doubles of their servers, and paragraphs to write from."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from app.adapters.providers.cohere_chat import CohereGenerator
from app.adapters.providers.cohere_client import open_client
from app.adapters.providers.openai_chat import OpenAIGenerator, open_server
from app.domain.generated_text.model_text import GeneratedText, GeneratorEvent
from app.domain.prompts import ANSWER_FROM_DOCUMENTS, ANSWER_FROM_NUMBERED_SOURCES
from app.domain.retrieval.query import ContextPassage, Turn
from app.services.ports import GenerationRequest, Generator
from app.services.provider_calls import ProviderCalls
from tests.cohere_double import CohereDouble
from tests.fake_world import context_of, passage
from tests.provider_fakes import free_calls

Model: TypeAlias = CohereGenerator | OpenAIGenerator

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
async def cohere_at(url: str, seconds: float = 10.0) -> AsyncIterator[CohereGenerator]:
    """A model that waits `seconds` for each event."""
    calls = free_calls("command-a-03-2025")
    async with open_client(CohereDouble.key, url) as client:
        model = CohereGenerator(client.provider, calls, calls)
        model.first_seconds = seconds
        yield model


@asynccontextmanager
async def openai_at(
    url: str,
    key: str | None = None,
    seconds: float = 10.0,
    calls: ProviderCalls | None = None,
    **options: Any,
) -> AsyncIterator[OpenAIGenerator]:
    """A model that waits `seconds` for each part of an answer."""
    calls = calls or free_calls()
    async with open_server(url, key) as server:
        model = OpenAIGenerator(server, calls, calls, **options)
        model.first_seconds = model.chunk_seconds = seconds
        yield model


async def answer(
    model: Generator,
    context: Sequence[ContextPassage] = CONTEXT,
    history: Sequence[Turn] = (),
    question: str = QUESTION,
) -> list[GeneratorEvent]:
    return [one async for one in model.generate(GenerationRequest(question, history, context))]


def text_of(events: Sequence[GeneratorEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, GeneratedText))


class OpenAI:
    """OpenAI's protocol: a model, its prompt, what it streams.

    `usage` and `raw` texts are JSON as they are sent.
    """

    instructions = ANSWER_FROM_NUMBERED_SOURCES
    truncated = "length"

    def model(self, url: str, seconds: float = 10.0) -> AbstractAsyncContextManager[Model]:
        return openai_at(url, seconds=seconds)

    def prompt(self, request: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
        """The sources, and the messages beside them."""
        system, sources, *conversation = request["messages"]
        return sources["content"], [system, *conversation]

    def text(self, text: str, **other: object) -> str:
        return self.raw(json.dumps({"choices": [{"delta": {"content": text, **other}}]}))

    def end(self, reason: str = "stop", usage: str = "1") -> str:
        choices = json.dumps([{"delta": {}, "finish_reason": reason}])
        counts = f'{{"prompt_tokens": {usage}, "completion_tokens": 2}}'
        return self.raw(f'{{"choices": {choices}, "usage": {counts}}}') + "data: [DONE]\n\n"

    def error(self) -> str:
        return self.raw('{"error": {"message": "node \\ud800 7"}}')

    def raw(self, event: str) -> str:
        return f"data: {event}\n\n"


class Cohere(OpenAI):
    """Cohere's protocol."""

    instructions = ANSWER_FROM_DOCUMENTS
    truncated = "MAX_TOKENS"

    def model(self, url: str, seconds: float = 10.0) -> AbstractAsyncContextManager[Model]:
        return cohere_at(url.removesuffix("/v1"), seconds)

    def prompt(self, request: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
        return json.dumps(request["documents"], ensure_ascii=False), request["messages"]

    def text(self, text: str, **other: object) -> str:
        content = {"text": text, **other}
        delta = {"message": {"content": content}}
        return self.raw(json.dumps({"type": "content-delta", "index": 0, "delta": delta}))

    def end(self, reason: str = "COMPLETE", usage: str = "1") -> str:
        units = f'{{"billed_units": {{"input_tokens": {usage}, "output_tokens": 2}}}}'
        delta = f'{{"finish_reason": "{reason}", "usage": {units}}}'
        return self.raw(f'{{"type": "message-end", "delta": {delta}}}')

    def error(self) -> str:
        delta = '{"finish_reason": "ERROR", "error": "node \\ud800 7"}'
        return self.raw(f'{{"type": "message-end", "delta": {delta}}}')
