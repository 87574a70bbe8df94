"""A model that writes text, over any API: one call, one stream of events."""

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import httpx

from app.adapters.providers.http import Event, Provider, events_of
from app.domain.answer import Usage
from app.domain.characters import well_formed
from app.domain.cost import Units
from app.domain.errors import ProviderUnavailable
from app.domain.generated_text.model_text import (
    GeneratedEnd,
    GeneratedText,
    GeneratorEvent,
    ModelText,
    TextDiscarded,
)
from app.domain.prompts import (
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    NO_ANSWER,
    ChatMessage,
    rewrite_messages,
    rewritten,
)
from app.domain.retrieval.query import Turn
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls

_log = logging.getLogger(__name__)

Body: TypeAlias = Mapping[str, object]

_REWRITE_CHARACTERS = 2_000
_REWRITE_SECONDS = 5.0
"""Time limit to rewrite a follow-up question; after it a rule does."""
# OpenAI's and Cohere's reason for an answer that reached its maximum of tokens.
_TRUNCATED = frozenset({"length", "max_tokens"})


@dataclass(slots=True)
class Response:
    """What has been read of one response."""

    text: ModelText
    seconds: float
    """Time limit for the next event."""
    cited: Sequence[str] = ()
    """Ids of the paragraphs, by the position of each document."""
    prompt_tokens: int = 0
    """0 if the speed of the server is not measured."""
    sent: float = 0.0
    waited: float | None = None
    """Seconds until the first token; None before it."""
    uncached: float = 1.0
    """Share of the prompt that was not in the server's prompt cache, 0 to 1."""
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    """The provider's reason for the end of the answer; "" before it."""
    ended: bool = False
    """Whether nothing after the last event belongs to the answer."""


class ChatModel(ABC):
    """Implements the ports `Generator` and `QuestionRewriter`."""

    path: ClassVar[str]
    """Path of the API's endpoint."""
    options: ClassVar[Body] = {}
    """Other fields of every request."""
    first_seconds: float
    """Time limit for the first event."""

    def __init__(
        self, provider: Provider, answering: ProviderCalls, rewriting: ProviderCalls
    ) -> None:
        self.provider = provider
        self.model = answering.model
        self._answering, self._rewriting = answering, rewriting

    async def check(self) -> None:  # noqa: B027 - a check may cost money
        """Check the connection, if that is free. Raises ProviderError, ConfigError."""

    @abstractmethod
    def prompt(self, request: GenerationRequest) -> tuple[Body, Response]:
        """Return the body of the request for an answer, and its response before the first event."""

    @abstractmethod
    def read(self, event: Event, response: Response) -> Iterator[GeneratorEvent]:
        """Yield the text and citations of the next event.

        ProviderUnavailable if it reports that the generation failed.
        """

    def close(self, response: Response) -> Iterator[GeneratorEvent]:
        """Yield the remaining events. ProviderUnavailable if the stream ended too early."""
        yield from response.text.close()
        reason = "length" if response.text.full else response.reason
        if response.text.refused:
            reason = NO_ANSWER
        elif not reason:
            raise self._unavailable("the stream ended before the answer")
        yield GeneratedEnd(response.usage, reason, truncated=reason.lower() in _TRUNCATED)

    def silence(self, response: Response) -> str:
        """Return the reason of the error for a response without an event in time."""
        return f"it sent nothing for {response.seconds:g} s"

    def failed(self, said: str) -> ProviderUnavailable:
        """Log what the provider said, which is not for readers; return the error."""
        fields = {"provider": self.provider.name, "error": well_formed(said[:300])}
        _log.warning("provider.generation_failed", extra=fields)
        return self._unavailable("the generation failed")

    def _unavailable(self, reason: str) -> ProviderUnavailable:
        return ProviderUnavailable(f"{self.provider.name} could not answer: {reason}")

    @asynccontextmanager
    async def _wait(self, response: Response) -> AsyncIterator[None]:
        """Limit the wait for an event, and translate what it raises."""
        with self.provider.errors("answer"):
            try:
                async with asyncio.timeout(response.seconds):
                    yield
            except TimeoutError as error:
                raise self._unavailable(self.silence(response)) from error

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield the events of an answer. Closing closes the connection."""
        return self._events(*self.prompt(request))

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        """Return the standalone question that the model writes. ProviderError if it is empty."""
        body = self.body(rewrite_messages(question, history), MAX_QUESTION_TOKENS)
        response = Response(ModelText(_REWRITE_CHARACTERS), self.first_seconds)
        text = ""
        async with aclosing(self._events(body, response, rewriting=True)) as events:
            async for event in events:
                if isinstance(event, GeneratedText):
                    text += event.text
                elif isinstance(event, TextDiscarded):
                    text = ""
        return rewritten(text)

    def body(
        self, messages: Sequence[ChatMessage], max_tokens: int = MAX_ANSWER_TOKENS
    ) -> dict[str, object]:
        return {
            "model": self.model,
            "messages": [{"role": one.role, "content": one.content} for one in messages],
            "stream": True,
            "temperature": 0.0,  # the most literal reading of the documents
            "max_tokens": max_tokens,
            **self.options,
        }

    async def _events(
        self, body: Body, response: Response, *, rewriting: bool = False
    ) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield the events of one response, then one end.

        The wait for the first event is limited; when rewriting, that for all of them. Until the
        stream begins, the call is retried.
        """
        calls, most = self._answering, MAX_ANSWER_TOKENS
        # Longer than the limit for an event, whose error says more.
        seconds = response.seconds + 1
        if rewriting:
            calls, most, seconds = self._rewriting, MAX_QUESTION_TOKENS, _REWRITE_SECONDS
        estimate = Units(tokens_about(json.dumps(body, ensure_ascii=False)), most)
        async with calls.call(estimate, seconds) as call, AsyncExitStack() as stack:

            async def begin() -> httpx.Response:
                async with self._wait(response):
                    sent = self.provider.client.stream("POST", self.path, json=body)
                    return await stack.enter_async_context(sent)

            events = await stack.enter_async_context(aclosing(events_of(await call.run(begin))))
            while not (response.ended or response.text.full):
                async with self._wait(response):
                    event = await anext(events, None)
                if event is None:
                    break
                for item in self.read(event, response):
                    if not rewriting:
                        call.begin()
                    yield item
            rest = [*self.close(response)]
            if response.usage != Usage():
                call.bill(Units(response.usage.input_tokens, response.usage.output_tokens))
        # Outside the call: the consumer may close this stream after its last event, which the
        # breaker would treat as a cancelled call.
        for item in rest:
            yield item


def tokens_about(text: str) -> int:
    return len(text.encode()) // 4
