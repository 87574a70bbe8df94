"""Grounded answers by any server with OpenAI's chat completions API: Ollama, vLLM, llama.cpp.

The API has no citations. The paragraphs are numbered in the prompt, and the numbers that the model
writes are parsed as citations.
"""

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from app.adapters.providers.chat import Body, ChatModel, Response, tokens_about
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
from app.domain.generated_text.model_text import GeneratorEvent, ModelText
from app.domain.prompts import ChatMessage, numbered_messages
from app.domain.retrieval.query import ContextPassage
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls

_log = logging.getLogger(__name__)

_CHECK_SECONDS = 2.0
_OWN_NAME = "textbook-rag"
"""Owner of the models that this program lists: its books."""
_TARGET_SECONDS = 20.0
"""Time to the first token that a reader may be asked to wait for."""
_ASSUMED = 1 / 75.0
"""Seconds a token before the first measurement: a third of the speed of a model with 135 million
parameters on two busy cores."""
_MIN_MEASURED = 100
"""Minimum tokens read for a measurement; with fewer (the rest is cached) latency dominates."""
_WEIGHT = 0.5
"""Weight of a measurement in the EWMA: a first call that loads the model is outweighed after two or
three more."""
_MIN_CONTEXT_TOKENS = 400
"""Minimum token budget of the context, however slow the server is: two paragraphs."""


def open_server(base_url: str, api_key: str | None) -> AbstractAsyncContextManager[Provider]:
    """Open a client for the server at `base_url`, which ends with the API version: ".../v1"."""
    settings = "RAG_OPENAI_API_KEY", "RAG_OPENAI_BASE_URL"
    return connect("the model server", *settings, base_url, api_key)


async def listed_models(server: Provider) -> list[str]:
    """Return the names of the server's models; a server of this program has none, only books.

    ProviderError if the server does not send the list, ConfigError if its address is invalid.
    """
    with server.errors("list its models"):
        async with asyncio.timeout(_CHECK_SECONDS):
            async with server.client.stream("GET", "models") as response:
                sent = json.loads(await beginning(response.aiter_raw(), MAX_LINE_BYTES))
        return [one["id"] for one in sent["data"] if one.get("owned_by") != _OWN_NAME]


class OpenAIGenerator(ChatModel):
    path = "chat/completions"
    options = {"stream_options": {"include_usage": True}}  # noqa: RUF012 - a ClassVar of the base
    first_seconds = 120.0
    """Time limit for the first token: a model may have to be loaded, and a slow server to read."""
    chunk_seconds = 60.0
    """Time limit for each later part of an answer: an answer may take longer."""

    def __init__(
        self,
        server: Provider,
        answering: ProviderCalls,
        rewriting: ProviderCalls,
        *,
        short_prompt: bool = False,
    ) -> None:
        """`short_prompt`: use the prompt for small models."""
        super().__init__(server, answering, rewriting)
        self.speed = PromptSpeed()
        """A slow server gets less context."""
        self.clock = time.monotonic
        self._short_prompt = short_prompt

    async def check(self) -> None:
        """Request the list of models; log a warning if `model` is not in it.

        ProviderError if the server does not send the list, ConfigError if its address is invalid.
        """
        models = await listed_models(self.provider)
        if self.model not in models:
            # Some servers accept any model name: llama.cpp serves its one model for all of them.
            names = ", ".join(models[:5]) or "none"
            fields = {"model": self.model, "models": names, "setting": "RAG_OPENAI_MODEL"}
            _log.warning("openai.model_not_listed", extra=fields)

    def prompt(self, request: GenerationRequest) -> tuple[Body, Response]:
        rest = sum(tokens_about(one.content) for one in self._messages(request, ()))
        context = self.speed.shortened(request.context, rest)
        numbered = tuple(one.passage.paragraph_id for one in context)
        tokens = rest + sum(one.tokens for one in context)
        text, sent = ModelText(numbered=numbered), self.clock()
        response = Response(text, self.first_seconds, prompt_tokens=tokens, sent=sent)
        return self.body(self._messages(request, context)), response

    def read(self, event: Event, response: Response) -> Iterator[GeneratorEvent]:
        if error := event.get("error"):
            raise self.failed(text_of(error, "message") or text_of(error))
        if usage := event.get("usage"):
            _count(usage, response)
        choice = field_of(event, "choices", 0)
        yield from response.text.feed(self._delta(field_of(choice, "delta"), response))
        response.reason = text_of(choice, "finish_reason") or response.reason

    def _delta(self, delta: object, response: Response) -> str:
        """Return the text of a delta. Fields with the model's reasoning are no text."""
        text = text_of(delta, "content")
        # The first event may have only the role and come before the prompt is processed.
        begun = text or text_of(delta, "reasoning_content") or text_of(delta, "reasoning")
        if begun and response.waited is None:
            response.waited = self.clock() - response.sent
            response.seconds = self.chunk_seconds
        return text

    def close(self, response: Response) -> Iterator[GeneratorEvent]:
        if response.waited is not None:
            read = round(response.prompt_tokens * response.uncached)
            self.speed.measured(read, response.waited)
        yield from super().close(response)

    def silence(self, response: Response) -> str:
        if response.waited is None:
            self.speed.measured(response.prompt_tokens, response.seconds)
        hint = "A slow server needs a shorter prompt (RAG_CONTEXT_TOKENS)"
        return f"{super().silence(response)}. {hint}"

    def _messages(
        self, request: GenerationRequest, context: Sequence[ContextPassage]
    ) -> Sequence[ChatMessage]:
        sources = [(" > ".join(one.passage.heading_path), one.passage.text) for one in context]
        question, short = request.question, self._short_prompt
        return numbered_messages(question, request.history, sources, short=short)


def _count(usage: object, response: Response) -> None:
    """Read the tokens of a response, and how many of the prompt were cached."""
    prompt, written = field_of(usage, "prompt_tokens"), field_of(usage, "completion_tokens")
    response.usage = usage_of(prompt, written)
    cached = tokens_of(field_of(usage, "prompt_tokens_details", "cached_tokens")) or 0
    if read := response.usage.input_tokens:
        response.uncached = 1 - min(cached / read, 1)


@dataclass(slots=True)
class PromptSpeed:
    """Estimates how fast a server reads prompts, and limits the length of the next prompt.

    A small machine reads tens of tokens a second, a large one thousands. A context that a large
    machine reads at once would time out on a small one. So the time to the first token is measured:

        seconds a token = EWMA of (seconds to the first token / prompt tokens read)
        prompt tokens   = _TARGET_SECONDS / seconds a token

    Queueing on a busy server counts as reading, so that its prompts become shorter.
    """

    seconds_per_token: float = _ASSUMED
    _warned: bool = False

    def measured(self, tokens: int, seconds: float) -> None:
        """Record that the first token came `seconds` after a prompt of which `tokens` were read.

        Without a first token, the seconds waited.
        """
        if tokens >= _MIN_MEASURED:
            pace = max(seconds, 1e-6) / tokens
            self.seconds_per_token = _WEIGHT * pace + (1 - _WEIGHT) * self.seconds_per_token

    def shortened(self, context: Sequence[ContextPassage], rest: int) -> Sequence[ContextPassage]:
        """Return the paragraphs with the highest scores that are read in time, in their order.

        At least one. `rest` are the prompt's other tokens.
        """
        left = max(round(_TARGET_SECONDS / self.seconds_per_token) - rest, _MIN_CONTEXT_TOKENS)
        kept: set[int] = set()
        for at in sorted(range(len(context)), key=lambda one: -context[one].score):
            if context[at].tokens <= left or not kept:
                kept.add(at)
                left -= context[at].tokens
        if len(kept) < len(context) and self.seconds_per_token > _ASSUMED and not self._warned:
            self._warned = True
            speed = round(1 / self.seconds_per_token, 1)
            fields = {"prompt_tokens_per_second": speed, "setting": "RAG_CONTEXT_TOKENS"}
            _log.warning("openai.slow_server", extra=fields)
        return [context[at] for at in sorted(kept)]
