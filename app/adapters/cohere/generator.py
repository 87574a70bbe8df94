"""Grounded answers by Cohere's chat API: paragraphs are documents, citations have their ids."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import httpx

from app.adapters.cohere.errors import provider_errors, refusal
from app.adapters.cohere.retries import READER
from app.adapters.cohere.stream import ChatReader, DocumentSet
from app.domain.answer import AnswerMode
from app.domain.errors import ProviderUnavailable
from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    ChatMessage,
    answer_messages,
    rewrite_messages,
)
from app.domain.retrieval.query import Turn
from app.services.generators import GenerationRequest, GeneratorEvent
from app.services.provider_calls import ProviderCalls
from app.services.provider_stream import (
    MAX_REWRITE_CHARACTERS,
    Event,
    ModelText,
    answer_estimate,
    read_events,
    read_stream,
    rewritten_by,
)


@dataclass(frozen=True, slots=True)
class CohereGenerator:
    """Implements the `Generator` port.

    Closing the iterator that `generate` returns closes the connection, which ends the generation.
    """

    mode = AnswerMode.GENERATED
    client: httpx.AsyncClient
    answering: ProviderCalls
    rewriting: ProviderCalls
    model: str
    first_seconds: float = 20.0
    """Time limit for the first event, retries included; after it the answer is extractive."""
    event_seconds: float = 30.0
    """Time limit for each event: an answer may take longer."""

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations, then one end.

        If the model finds no answer in the context, there is no text and `finish_reason` is
        NO_ANSWER.
        """
        documents = DocumentSet(request.context)
        messages = answer_messages(ANSWER_FROM_DOCUMENTS, request.question, request.history)
        # Command A supports the citation modes FAST and OFF only.
        options = {"documents": documents.documents(), "citation_options": {"mode": "FAST"}}
        body = self._body(messages, MAX_ANSWER_TOKENS) | options
        events = self._answer("answer", body, ChatReader(documents, ModelText()))
        return self.answering.answer(events, answer_estimate(request), self.first_seconds)

    async def check(self) -> None:
        """Do nothing: a check would cost money."""

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the standalone question. ProviderError if the call fails or is slow."""
        body = self._body(rewrite_messages(question, history), MAX_QUESTION_TOKENS)
        reader = ChatReader(DocumentSet(()), ModelText(MAX_REWRITE_CHARACTERS))
        answer = self._answer("rewrite the question", body, reader)
        return await rewritten_by(answer, self.rewriting, question, history)

    def _body(self, messages: Sequence[ChatMessage], max_tokens: int) -> dict[str, object]:
        return {
            "model": self.model,
            "messages": [{"role": one.role, "content": one.content} for one in messages],
            "stream": True,
            "temperature": 0.0,  # the most literal reading of the documents
            "max_tokens": max_tokens,
        }

    async def _answer(
        self, action: str, body: Mapping[str, object], reader: ChatReader
    ) -> AsyncGenerator[GeneratorEvent, None]:
        events = await READER.run(partial(self._open, action, body))
        errors = partial(provider_errors, action)
        answer = read_stream(events, reader, errors, lambda: self.event_seconds)
        async with aclosing(answer):
            async for item in answer:
                yield item

    async def _open(self, action: str, body: Mapping[str, object]) -> AsyncGenerator[Event, None]:
        """Wait for the first event: until then nothing is shown, so the call can be retried."""
        events = self._events(action, body)
        try:
            with provider_errors(action):
                async with asyncio.timeout(self.event_seconds):
                    first = await anext(events, None)
            if first is None:
                message = f"Cohere could not {action}: it sent no event"
                raise ProviderUnavailable(message)
        except BaseException:
            await events.aclose()
            raise
        return _with_first(first, events)

    async def _events(self, action: str, body: Mapping[str, object]) -> AsyncGenerator[Event, None]:
        async with self.client.stream("POST", "v2/chat", json=body) as response:
            if response.status_code >= 400:
                said = await response.aread()
                raise refusal(action, response.status_code, response.headers, _parsed(said))
            async with aclosing(read_events(response.aiter_raw(), "Cohere")) as events:
                async for event in events:
                    yield event


async def _with_first(
    first: Event, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    async with aclosing(events):
        yield first
        async for event in events:
            yield event


def _parsed(body: bytes) -> object:
    """Return the JSON of an error's body, or its text."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", errors="replace")
