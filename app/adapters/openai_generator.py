"""Grounded answers by any server with OpenAI's chat completions API: Ollama, vLLM, llama.cpp.

The API has no citations. The paragraphs are numbered in the prompt, and the numbers that the model
writes are parsed as citations.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import httpx

from app.domain.answer import AnswerMode, Usage
from app.domain.errors import (
    ConfigError,
    ProviderError,
    ProviderUnavailable,
)
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
from app.domain.surrogates import well_formed
from app.services.generators import (
    GeneratedEnd,
    GeneratedText,
    GenerationRequest,
    GeneratorEvent,
    TextDiscarded,
)
from app.services.prompt_speed import PromptSpeed
from app.services.provider_calls import ProviderCalls
from app.services.provider_stream import (
    MAX_LINE_BYTES,
    MAX_REWRITE_CHARACTERS,
    Event,
    ModelText,
    answer_estimate,
    beginning,
    field_of,
    read_events,
    read_stream,
    refused_call,
    rewritten_by,
    text_of,
    tokens_of,
    usage_of,
)

logger = logging.getLogger(__name__)

# Each answer uses a connection while it is generated. httpx's default limit of 100 would make the
# 101st fail.
_CONNECTIONS = httpx.Limits(max_connections=2_000, max_keepalive_connections=100)
_CHECK_SECONDS = 2.0
_FIRST_SECONDS = 120.0
"""Time limit for the first token: a model may have to be loaded, and a slow server to read."""
_CHUNK_SECONDS = 60.0
"""Time limit for each later part of an answer: an answer may take longer."""
_MIN_CONTEXT_TOKENS = 400
"""Minimum token budget of the context, however slow the server is: two paragraphs."""
CHARACTERS_PER_TOKEN = 4
"""Estimate for the prompt without the context; the tokens of the context are counted exactly."""
_NAME = "the model server"
_OWN_NAME = "textbook-rag"
"""Owner of the models that this program lists: its books."""


@asynccontextmanager
async def open_server(base_url: str, api_key: str | None) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for the server at `base_url`, which ends with the API version: ".../v1".

    ConfigError if the key is not printable ASCII.
    """
    # Compressed responses are not asked for and not read: a few kB may become any size.
    headers = {"Accept-Encoding": "identity"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key.strip()}"
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        message = "the key of the model server has invalid characters: set RAG_OPENAI_API_KEY again"
        raise ConfigError(message)
    async with httpx.AsyncClient(
        base_url=base_url,
        headers=headers,
        timeout=httpx.Timeout(_CHUNK_SECONDS, read=None),  # callers bound each wait for data
        limits=_CONNECTIONS,
    ) as client:
        yield client


async def listed_models(client: httpx.AsyncClient) -> list[str]:
    """Return the names of the server's models; a server of this program has none, only books.

    ProviderError if the server does not send the list, ConfigError if its address is invalid.
    """
    with _server_errors(_CHECK_SECONDS):
        async with asyncio.timeout(_CHECK_SECONDS), client.stream("GET", "models") as response:
            if response.status_code >= 400:
                raise await _refusal(response)
            sent = json.loads(await beginning(response.aiter_raw(), MAX_LINE_BYTES))
        return [one["id"] for one in sent["data"] if one.get("owned_by") != _OWN_NAME]


@dataclass(slots=True)
class _Habit:
    unopened: bool = False
    """Whether the last answer began with reasoning without `<think>`."""


@dataclass(frozen=True, slots=True)
class OpenAIGenerator:
    """Implements the `Generator` port.

    Closing the iterator that `generate` returns closes the connection.
    """

    mode = AnswerMode.GENERATED
    client: httpx.AsyncClient
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
    _habit: _Habit = field(default_factory=_Habit, init=False, compare=False, repr=False)

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations, then one end.

        If the model finds no answer in the context, there is no text and `finish_reason` is
        NO_ANSWER.
        """
        # Longer than the limit for the first token, whose error says what helps.
        seconds = self.first_seconds + 1
        return self.answering.answer(self._answer(request), answer_estimate(request), seconds)

    async def _answer(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        context, messages, tokens = self._prompt(request)
        text = ModelText(unopened=self._habit.unopened)
        answer = _Answer(context, self.clock, text)
        sent = self.clock()
        body = self._request(messages, MAX_ANSWER_TOKENS)
        try:
            async with aclosing(self._stream(body, answer)) as events:
                async for event in events:
                    if isinstance(event, GeneratedEnd):
                        self._habit.unopened = text.unopened
                    yield event
        except ProviderUnavailable as error:
            if answer.began_at is None and isinstance(error.__cause__, TimeoutError):
                self.speed.measured(tokens, self.first_seconds)
            raise
        finally:
            if answer.began_at is not None:
                self.speed.measured(round(tokens * answer.uncached), answer.began_at - sent)

    async def check(self) -> None:
        """Request the list of models; log a warning if `model` is not in it.

        ProviderError if the server does not send the list, ConfigError if its address is invalid.
        """
        models = await listed_models(self.client)
        if self.model not in models:
            # Some servers accept any model name: llama.cpp serves its one model for all of them.
            names = ", ".join(models[:5]) or "none"
            fields = {"model": self.model, "models": names, "setting": "RAG_OPENAI_MODEL"}
            logger.warning("openai.model_not_listed", extra=fields)

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the standalone question. ProviderError if the call fails or is slow."""
        body = self._request(rewrite_messages(question, history), MAX_QUESTION_TOKENS)
        answer = self._stream(body, _Answer((), self.clock, ModelText(MAX_REWRITE_CHARACTERS)))
        return await rewritten_by(answer, self.rewriting, question, history)

    def _stream(
        self, body: Mapping[str, object], answer: _Answer
    ) -> AsyncGenerator[GeneratorEvent, None]:
        def seconds() -> float:
            return self.first_seconds if answer.began_at is None else self.chunk_seconds

        return read_stream(self._events(body), answer, lambda: _server_errors(seconds()), seconds)

    async def _events(self, body: Mapping[str, object]) -> AsyncGenerator[Event, None]:
        async with self.client.stream("POST", "chat/completions", json=body) as response:
            if response.status_code >= 400:
                raise await _refusal(response)
            async with aclosing(read_events(response.aiter_raw(), _NAME)) as events:
                async for event in events:
                    yield event

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

    def _request(self, messages: Sequence[ChatMessage], max_tokens: int) -> Mapping[str, object]:
        return {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.0,
            "max_tokens": max_tokens,
        }


class _Answer:
    """Converts the events of one response to events of the port."""

    def __init__(
        self, context: Sequence[ContextPassage], clock: Callable[[], float], text: ModelText
    ) -> None:
        self.began_at: float | None = None
        """Time of the first token, by the clock; None before it."""
        self.uncached = 1.0
        """Share of the prompt that was not in the server's prompt cache, 0 to 1."""
        self._clock = clock
        self._paragraph_ids = tuple(item.passage.paragraph_id for item in context)
        self._text = text
        self._usage = Usage()
        self._reason = ""

    @property
    def ended(self) -> bool:
        return self._text.full

    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        if error := event.get("error"):
            said = text_of(error, "message") or (error if isinstance(error, str) else "")
            logger.warning("openai.generation_failed", extra={"error": well_formed(said[:300])})
            message = "the model server could not answer: the generation failed"
            raise ProviderError(message)
        if usage := event.get("usage"):
            self._count(usage)
        choice = field_of(event, "choices", 0)
        yield from self._numbered(self._text.feed(self._delta(field_of(choice, "delta"))))
        self._reason = text_of(choice, "finish_reason") or self._reason

    def _delta(self, delta: object) -> str:
        """Return the text of a delta. Fields with the model's reasoning are no text."""
        text = text_of(delta, "content")
        # The first event may have only the role and come before the prompt is processed.
        begun = text or text_of(delta, "reasoning_content") or text_of(delta, "reasoning")
        if begun and self.began_at is None:
            self.began_at = self._clock()
        return text

    def _count(self, usage: object) -> None:
        prompt = field_of(usage, "prompt_tokens")
        self._usage = usage_of(prompt, field_of(usage, "completion_tokens"))
        read = tokens_of(prompt)
        cached = tokens_of(field_of(usage, "prompt_tokens_details", "cached_tokens")) or 0
        self.uncached = 1 - min(cached / read, 1) if read else 1.0

    def close(self) -> Iterator[GeneratorEvent]:
        end = self._text.end(_NAME, self._usage, self._reason)
        yield from self._numbered(self._text.close())
        yield end

    def _numbered(
        self, received: Iterator[GeneratedText | TextDiscarded]
    ) -> Iterator[GeneratorEvent]:
        """Yield the events, of texts with the paragraphs that their markers name."""
        for one in received:
            yield (
                GeneratedText(one.text, self._paragraph_ids)
                if isinstance(one, GeneratedText)
                else one
            )


def best_within(context: Sequence[ContextPassage], token_budget: int) -> Sequence[ContextPassage]:
    """Return the paragraphs with the highest scores that fit, in their order; at least one."""
    kept: set[int] = set()
    left = token_budget
    for at in sorted(range(len(context)), key=lambda one: -context[one].score):
        if context[at].tokens <= left or not kept:
            kept.add(at)
            left -= context[at].tokens
    return [one for at, one in enumerate(context) if at in kept]


@contextmanager
def _server_errors(seconds: float) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpx.TimeoutException) as error:
        message = (
            f"the model server could not answer: it sent nothing for {seconds:g} s. A slow server "
            "needs a shorter prompt (RAG_CONTEXT_TOKENS)"
        )
        raise ProviderUnavailable(message) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        message = "RAG_OPENAI_BASE_URL is not an http(s) URL"
        raise ConfigError(message) from error
    except httpx.HTTPError as error:
        # The error's text is left out: it may contain the request's headers with the API key.
        message = f"the model server could not answer: {type(error).__name__} (RAG_OPENAI_BASE_URL)"
        raise ProviderUnavailable(message) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = "the model server could not answer: it did not send a chat completion"
        raise ProviderUnavailable(message) from error


async def _refusal(response: httpx.Response) -> ProviderError:
    body = await beginning(response.aiter_raw())
    said = " ".join(body.decode("utf-8", errors="replace").split())[:200]
    return refused_call(_NAME, "answer", response.status_code, said, "RAG_OPENAI_API_KEY")
