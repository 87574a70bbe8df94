"""Grounded answers by Cohere's chat API: paragraphs are documents, citations have their ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from app.adapters.cohere.client import request_options
from app.adapters.cohere.errors import provider_errors
from app.adapters.cohere.limiter import Slot
from app.adapters.cohere.retries import READER, Calls
from app.adapters.cohere.stream import ChatReader, DocumentSet, usage_of
from app.domain.answer import AnswerMode
from app.domain.cost import Bill, Units
from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    MAX_QUESTION_TOKENS,
    ChatMessage,
    answer_messages,
    rewrite_messages,
    rewritten,
)
from app.domain.retrieval.query import Turn
from app.services.generators import GenerationRequest, GeneratorEvent
from app.services.provider_stream import read_stream

if TYPE_CHECKING:
    from cohere import AsyncClientV2, ChatMessageV2, V2ChatStreamResponse

_Events: TypeAlias = "AsyncGenerator[V2ChatStreamResponse, None]"


@dataclass(frozen=True, slots=True)
class CohereGenerator:
    """Implements the `Generator` port.

    `timeout_seconds` limits the wait for each event, not the whole answer. Closing the iterator
    that `generate` returns closes the connection, which ends the generation.
    """

    mode = AnswerMode.GENERATED
    client: AsyncClientV2
    calls: Calls
    model: str
    timeout_seconds: float = 30.0
    max_tokens: int = 1_000
    rewrites: Bill = field(default_factory=Bill, compare=False)
    """Usage of `rewrite`; the usage of an answer is in its end event."""

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations, then one end.

        If the model finds no answer in the context, there is no text and `finish_reason` is
        NO_ANSWER.
        """
        documents = DocumentSet(request.context)
        messages = answer_messages(ANSWER_FROM_DOCUMENTS, request.question, request.history)

        async def send(_slot: Slot) -> _Events:
            return await self._open(messages, documents)

        events = await self.calls.run(send, READER)
        reader = ChatReader(documents)
        answer = read_stream(
            events, reader, partial(provider_errors, "answer"), lambda: self.timeout_seconds
        )
        async with aclosing(answer):
            async for item in answer:
                yield item

    async def _open(self, messages: Sequence[ChatMessage], documents: DocumentSet) -> _Events:
        """Wait for the first event: until then nothing is shown, so the call can be retried."""
        from cohere import CitationOptions  # noqa: PLC0415 - loaded when the client was opened

        events = cast(
            _Events,
            self.client.chat_stream(
                model=self.model,
                messages=chat_messages(messages),
                documents=documents.documents(),
                # command-a-03-2025 supports FAST and OFF only.
                citation_options=CitationOptions(mode="FAST"),
                temperature=0.0,  # the most literal reading of the documents
                max_tokens=self.max_tokens,
                request_options=request_options(self.timeout_seconds),
            ),
        )
        try:
            with provider_errors("answer"):
                async with asyncio.timeout(self.timeout_seconds):
                    first = await anext(events, None)
        except BaseException:
            await events.aclose()
            raise
        return _until_end(first, events)

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the standalone question. ProviderError if the call fails.

        `GuardedRewriter` limits the time of the whole call.
        """
        messages = chat_messages(rewrite_messages(question, history))
        return await self.calls.run(lambda _slot: self._ask(messages), READER)

    async def _ask(self, messages: list[ChatMessageV2]) -> str:
        with provider_errors("rewrite the question"):
            response = await self.client.chat(
                model=self.model,
                messages=messages,
                temperature=0.0,
                max_tokens=MAX_QUESTION_TOKENS,
                request_options=request_options(self.timeout_seconds),
            )
            used = usage_of(response.usage)
            self.rewrites.add(Units(used.input_tokens, used.output_tokens))
            content = response.message.content or []
            return rewritten("".join(item.text for item in content if item.type == "text"))


async def _until_end(first: V2ChatStreamResponse | None, events: _Events) -> _Events:
    """Yield `first` and the following events up to `message-end`."""
    async with aclosing(events):
        event = first
        while event is not None:
            yield event
            event = None if event.type == "message-end" else await anext(events, None)


def chat_messages(messages: Sequence[ChatMessage]) -> list[ChatMessageV2]:
    """Build the SDK's message objects."""
    from cohere import (  # noqa: PLC0415 - loaded when the client was opened
        AssistantChatMessageV2,
        SystemChatMessageV2,
        UserChatMessageV2,
    )

    kinds: dict[str, Callable[..., ChatMessageV2]] = {
        "system": SystemChatMessageV2,
        "assistant": AssistantChatMessageV2,
        "user": UserChatMessageV2,
    }
    return [kinds[message.role](content=message.content) for message in messages]
