"""A model's streamed answer, in any protocol: one call, one stream, one reader of its events."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass

import httpx

from app.adapters.providers.http import Event, Provider, events_of
from app.domain.answer import Usage
from app.domain.cost import Units
from app.domain.errors import ProviderUnavailable
from app.domain.generated_text.events import (
    GeneratedEnd,
    GeneratedText,
    GeneratorEvent,
    TextDiscarded,
)
from app.domain.generated_text.model_text import ModelText
from app.domain.prompts import (
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    NO_ANSWER,
    ChatMessage,
    rewritten,
)
from app.domain.retrieval.query import Turn
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls, tokens_about

MAX_REWRITE_CHARACTERS = 2_000
_REWRITE_SECONDS = 5.0
"""Time limit to rewrite a follow-up question; after it a rule does."""
_PROMPT_TOKENS = 500
"""Estimated tokens of the instructions in a prompt."""
# OpenAI's and Cohere's reason for an answer that reached its maximum of tokens.
_TRUNCATED = frozenset({"length", "max_tokens"})


class StreamReader(ABC):
    """Reads the events of one response: text and citations, then one end."""

    def __init__(self, provider: Provider, text: ModelText, seconds: float) -> None:
        self.provider = provider
        self.text = text
        self.seconds = seconds
        """Time limit for the next event."""
        self.usage = Usage()
        self.reason = ""
        """The provider's reason for the end of the answer; "" before it."""
        self.ended = False
        """Whether nothing after the last event belongs to the answer."""

    def errors(self) -> AbstractContextManager[None]:
        """Translate what the wait for an event raises."""
        return self.provider.errors("answer")

    @abstractmethod
    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        """Raise ProviderError if the event reports that the generation failed."""

    def close(self) -> Iterator[GeneratorEvent]:
        """Return the remaining events. ProviderUnavailable if the stream ended too early."""
        yield from self.text.close()
        reason = "length" if self.text.full else self.reason
        if self.text.refused:
            reason = NO_ANSWER
        elif not reason:
            message = f"{self.provider.name} could not answer: the stream ended before the answer"
            raise ProviderUnavailable(message)
        yield GeneratedEnd(self.usage, reason, truncated=reason.lower() in _TRUNCATED)


@dataclass(frozen=True, slots=True)
class Chat:
    """An endpoint that streams answers."""

    provider: Provider
    path: str

    def body(
        self, model: str, messages: Sequence[ChatMessage], max_tokens: int, **options: object
    ) -> Mapping[str, object]:
        return {
            "model": model,
            "messages": [{"role": one.role, "content": one.content} for one in messages],
            "stream": True,
            "temperature": 0.0,  # the most literal reading of the documents
            "max_tokens": max_tokens,
            **options,
        }

    async def answer(
        self,
        calls: ProviderCalls,
        estimate: Units,
        seconds: float,
        body: Mapping[str, object],
        reader: StreamReader,
        *,
        whole: bool = False,
    ) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield the events of an answer, then one end. Closing closes the connection.

        `seconds` limits the wait for the first event, or with `whole` for all of them. Until the
        stream begins, the call is retried.
        """
        async with calls.call(estimate, seconds) as call, AsyncExitStack() as stack:

            async def begin() -> httpx.Response:
                with reader.errors():
                    async with asyncio.timeout(reader.seconds):
                        response = self.provider.response("answer", self.path, body)
                        return await stack.enter_async_context(response)

            response = await call.run(begin)
            events = await stack.enter_async_context(
                aclosing(events_of(response, self.provider.name))
            )
            while not (reader.ended or reader.text.full):
                with reader.errors():
                    async with asyncio.timeout(reader.seconds):
                        event = await anext(events, None)
                if event is None:
                    break
                for item in reader.feed(event):
                    if not whole:
                        call.begin()
                    yield item
            *rest, end = reader.close()
            usage = end.usage if isinstance(end, GeneratedEnd) else Usage()
            if usage != Usage():
                call.bill(Units(usage.input_tokens, usage.output_tokens))
        # Outside the call: the consumer may close this stream after its last event, which the
        # breaker would treat as a cancelled call.
        for item in (*rest, end):
            yield item

    async def rewritten(
        self,
        calls: ProviderCalls,
        question: str,
        history: Sequence[Turn],
        body: Mapping[str, object],
        reader: StreamReader,
    ) -> str:
        """Return the standalone question that the model writes. ProviderError if it is empty."""
        texts = [question, *(turn.content for turn in history)]
        estimate = Units(tokens_about(texts), MAX_QUESTION_TOKENS)
        text = ""
        answer = self.answer(calls, estimate, _REWRITE_SECONDS, body, reader, whole=True)
        async with aclosing(answer):
            async for event in answer:
                if isinstance(event, GeneratedText):
                    text += event.text
                elif isinstance(event, TextDiscarded):
                    text = ""
        return rewritten(text)


def answer_estimate(request: GenerationRequest) -> Units:
    """Estimate what an answer will cost."""
    texts = [request.question, *(turn.content for turn in request.history)]
    context = sum(one.tokens for one in request.context)
    return Units(_PROMPT_TOKENS + context + tokens_about(texts), MAX_ANSWER_TOKENS)
