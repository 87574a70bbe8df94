"""Grounded answers by any server with OpenAI's chat completions API: Ollama, vLLM, llama.cpp.

The API has no citations. The paragraphs are numbered in the prompt, and the numbers that the model
writes are parsed as citations.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field

from app.adapters.providers.chat import (
    MAX_REWRITE_CHARACTERS,
    Chat,
    StreamReader,
    answer_estimate,
)
from app.adapters.providers.http import (
    MAX_LINE_BYTES,
    Event,
    Provider,
    beginning,
    connect,
    field_of,
    text_of,
    tokens_of,
    usage_of,
)
from app.domain.characters import well_formed
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.generated_text.events import GeneratorEvent
from app.domain.generated_text.model_text import ModelText
from app.domain.prompts import (
    ANSWER_FROM_NUMBERED_SOURCES,
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    ChatMessage,
    answer_messages,
    rewrite_messages,
    short_messages,
    sources_message,
)
from app.domain.retrieval.query import ContextPassage, Turn
from app.services.ports import GenerationRequest
from app.services.prompt_speed import PromptSpeed
from app.services.provider_calls import ProviderCalls

logger = logging.getLogger(__name__)

_LIST = "list its models"
_CHECK_SECONDS = 2.0
_FIRST_SECONDS = 120.0
"""Time limit for the first token: a model may have to be loaded, and a slow server to read."""
_CHUNK_SECONDS = 60.0
"""Time limit for each later part of an answer: an answer may take longer."""
_MIN_CONTEXT_TOKENS = 400
"""Minimum token budget of the context, however slow the server is: two paragraphs."""
CHARACTERS_PER_TOKEN = 4
"""Estimate for the prompt without the context; the tokens of the context are counted exactly."""
_OWN_NAME = "textbook-rag"
"""Owner of the models that this program lists: its books."""


def open_server(base_url: str, api_key: str | None) -> AbstractAsyncContextManager[Provider]:
    """Open a client for the server at `base_url`, which ends with the API version: ".../v1"."""
    settings = "RAG_OPENAI_API_KEY", "RAG_OPENAI_BASE_URL"
    return connect("the model server", *settings, base_url, api_key)


async def listed_models(server: Provider) -> list[str]:
    """Return the names of the server's models; a server of this program has none, only books.

    ProviderError if the server does not send the list, ConfigError if its address is invalid.
    """
    with server.errors(_LIST):
        async with asyncio.timeout(_CHECK_SECONDS):
            async with server.response(_LIST, "models") as response:
                sent = json.loads(await beginning(response.aiter_raw(), MAX_LINE_BYTES))
        return [one["id"] for one in sent["data"] if one.get("owned_by") != _OWN_NAME]


@dataclass(frozen=True, slots=True)
class OpenAIGenerator:
    """Implements the ports `Generator` and `QuestionRewriter`."""

    provider: Provider
    answering: ProviderCalls
    rewriting: ProviderCalls
    model: str
    first_seconds: float = _FIRST_SECONDS
    chunk_seconds: float = _CHUNK_SECONDS
    short_prompt: bool = False
    """Use the prompt for small models."""
    speed: PromptSpeed = field(default_factory=PromptSpeed)
    """Measured speed of the server; a slow server gets less context."""
    clock: Callable[[], float] = time.monotonic
    """In seconds."""

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        context, messages, tokens = self._prompt(request)
        numbered = tuple(one.passage.paragraph_id for one in context)
        text = ModelText(numbered=numbered)
        # Longer than the limit for the first token, whose error says what helps.
        seconds = self.first_seconds + 1
        body = self._body(messages, MAX_ANSWER_TOKENS)
        reader = _Reader(self, text, tokens)
        return self._chat.answer(self.answering, answer_estimate(request), seconds, body, reader)

    async def check(self) -> None:
        """Request the list of models; log a warning if `model` is not in it.

        ProviderError if the server does not send the list, ConfigError if its address is invalid.
        """
        models = await listed_models(self.provider)
        if self.model not in models:
            # Some servers accept any model name: llama.cpp serves its one model for all of them.
            names = ", ".join(models[:5]) or "none"
            fields = {"model": self.model, "models": names, "setting": "RAG_OPENAI_MODEL"}
            logger.warning("openai.model_not_listed", extra=fields)

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        body = self._body(rewrite_messages(question, history), MAX_QUESTION_TOKENS)
        reader = _Reader(self, ModelText(MAX_REWRITE_CHARACTERS))
        return await self._chat.rewritten(self.rewriting, question, history, body, reader)

    @property
    def _chat(self) -> Chat:
        return Chat(self.provider, "chat/completions")

    def _body(self, messages: Sequence[ChatMessage], max_tokens: int) -> dict[str, object]:
        options = {"include_usage": True}
        return {**self._chat.body(self.model, messages, max_tokens, stream_options=options)}

    def _prompt(
        self, request: GenerationRequest
    ) -> tuple[Sequence[ContextPassage], Sequence[ChatMessage], int]:
        """Return the context that the server can process in time, the messages, the token count."""
        rest = sum(len(one.content) for one in self._messages(request, ())) // CHARACTERS_PER_TOKEN
        whole = sum(one.tokens for one in request.context)
        budget = max(self.speed.prompt_tokens - rest, _MIN_CONTEXT_TOKENS)
        context = best_within(request.context, budget)
        kept = sum(one.tokens for one in context)
        self.speed.shortened(kept, whole)
        return context, self._messages(request, context), rest + kept

    def _messages(
        self, request: GenerationRequest, context: Sequence[ContextPassage]
    ) -> Sequence[ChatMessage]:
        sources = [(" > ".join(one.passage.heading_path), one.passage.text) for one in context]
        if self.short_prompt:
            return short_messages(request.question, request.history, sources)
        system, *conversation = answer_messages(
            ANSWER_FROM_NUMBERED_SOURCES, request.question, request.history
        )
        return (system, sources_message(sources), *conversation)


class _Reader(StreamReader):
    """Reads the events of one response, and measures the server."""

    def __init__(self, model: OpenAIGenerator, text: ModelText, prompt_tokens: int = 0) -> None:
        super().__init__(model.provider, text, model.first_seconds)
        self._model = model
        self._prompt_tokens = prompt_tokens
        self._sent = model.clock()
        self._waited: float | None = None
        """Seconds until the first token; None before it."""
        self._uncached = 1.0
        """Share of the prompt that was not in the server's prompt cache, 0 to 1."""

    @contextmanager
    def errors(self) -> Iterator[None]:
        with super().errors():
            try:
                yield
            except TimeoutError as error:
                if self._waited is None:
                    self._model.speed.measured(self._prompt_tokens, self.seconds)
                message = (
                    f"the model server could not answer: it sent nothing for {self.seconds:g} s. "
                    "A slow server needs a shorter prompt (RAG_CONTEXT_TOKENS)"
                )
                raise ProviderUnavailable(message) from error

    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        if error := event.get("error"):
            said = text_of(error, "message") or (error if isinstance(error, str) else "")
            logger.warning("openai.generation_failed", extra={"error": well_formed(said[:300])})
            message = "the model server could not answer: the generation failed"
            raise ProviderError(message)
        if usage := event.get("usage"):
            self._count(usage)
        choice = field_of(event, "choices", 0)
        yield from self.text.feed(self._delta(field_of(choice, "delta")))
        self.reason = text_of(choice, "finish_reason") or self.reason

    def _delta(self, delta: object) -> str:
        """Return the text of a delta. Fields with the model's reasoning are no text."""
        text = text_of(delta, "content")
        # The first event may have only the role and come before the prompt is processed.
        begun = text or text_of(delta, "reasoning_content") or text_of(delta, "reasoning")
        if begun and self._waited is None:
            self._waited = self._model.clock() - self._sent
            self.seconds = self._model.chunk_seconds
        return text

    def _count(self, usage: object) -> None:
        prompt = field_of(usage, "prompt_tokens")
        self.usage = usage_of(prompt, field_of(usage, "completion_tokens"))
        read = tokens_of(prompt)
        cached = tokens_of(field_of(usage, "prompt_tokens_details", "cached_tokens")) or 0
        self._uncached = 1 - min(cached / read, 1) if read else 1.0

    def close(self) -> Iterator[GeneratorEvent]:
        if self._waited is not None:
            read = round(self._prompt_tokens * self._uncached)
            self._model.speed.measured(read, self._waited)
        yield from super().close()


def best_within(context: Sequence[ContextPassage], token_budget: int) -> Sequence[ContextPassage]:
    """Return the paragraphs with the highest scores that fit, in their order; at least one."""
    kept: set[int] = set()
    left = token_budget
    for at in sorted(range(len(context)), key=lambda one: -context[one].score):
        if context[at].tokens <= left or not kept:
            kept.add(at)
            left -= context[at].tokens
    return [one for at, one in enumerate(context) if at in kept]
