"""Helpers of all provider adapters: bounded reading of a response, odd values, errors by status.

What a provider sends is data of any shape and size. `field_of`, `text_of` and `tokens_of` read a
value or say that it is unknown; what is no event at all is ProviderUnavailable.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, aclosing
from typing import Protocol, TypeAlias

from app.domain.answer import TRUNCATED, Usage
from app.domain.cost import Units
from app.domain.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)
from app.domain.generated_text.received_text import MAX_CHARACTERS, ReceivedText
from app.domain.prompts import (
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    NO_ANSWER,
    NoAnswerDetector,
    rewritten,
)
from app.domain.retrieval.query import Turn
from app.services.generators import (
    GeneratedEnd,
    GeneratedText,
    GenerationRequest,
    GeneratorEvent,
    TextDiscarded,
)
from app.services.provider_calls import ProviderCalls, bill_usage, tokens_about

MAX_BYTES = 32 * 2**20
"""Limit on the body of a response: 96 vectors of 2,048 numbers have about 4 MB."""
MAX_ERROR_BYTES = 4_096
"""Read of the body of an error."""
MAX_LINE_BYTES = 2**20
MAX_LINES = 100_000
"""Limit on the lines of a stream, two to four for an event. A long answer with its reasoning has
about 10,000 events."""
MAX_REWRITE_CHARACTERS = 2_000
REWRITE_SECONDS = 5.0
"""Time limit to rewrite a follow-up question; after it a rule does."""
_PROMPT_TOKENS = 500
"""Estimated tokens of the instructions in a prompt."""
_PIECE_BYTES = 8_192
_MAX_TOKENS = 10**9

# 408 and 409 are temporary; 499 is Cohere's "request cancelled".
_TRANSIENT = frozenset({408, 409, 499})
# OpenAI's and Cohere's reason for an answer that reached its maximum of tokens.
_TRUNCATED = frozenset({"length", "max_tokens"})

Event: TypeAlias = Mapping[str, object]


class StreamReader(Protocol):
    """Converts a provider's events to the port's events."""

    @property
    def ended(self) -> bool:
        """Whether nothing after the last event belongs to the answer."""
        ...

    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        """Raise ProviderError if the event reports that the generation failed."""
        ...

    def close(self) -> Iterator[GeneratorEvent]:
        """Return the remaining events. ProviderUnavailable if the stream ended too early."""
        ...


async def read_stream(
    events: AsyncGenerator[Event, None],
    reader: StreamReader,
    errors: Callable[[], AbstractContextManager[None]],
    seconds: Callable[[], float],
) -> AsyncGenerator[GeneratorEvent, None]:
    """Yield the events that `reader` converts, and close the stream.

    `seconds` limits the wait for the next event; `errors` translates the provider's errors.
    """
    async with aclosing(events):
        ended = False
        while not ended:
            with errors():
                async with asyncio.timeout(seconds()):
                    event = await anext(events, None)
            for item in reader.feed(event) if event is not None else ():
                yield item
            ended = event is None or reader.ended
        for item in reader.close():
            yield item


async def read_events(chunks: AsyncIterable[bytes], provider: str) -> AsyncGenerator[Event, None]:
    """Yield the JSON objects of server-sent events, up to `[DONE]`.

    ProviderUnavailable if an event is no JSON object, or if the stream exceeds a limit.
    """
    async with aclosing(_lines(chunks, provider)) as lines:
        async for line in lines:
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            if data == b"[DONE]":
                return
            yield _json_object(data, provider)
            # Events that arrived together are read without a wait: let other requests run.
            await asyncio.sleep(0)


async def _lines(chunks: AsyncIterable[bytes], provider: str) -> AsyncGenerator[bytes, None]:
    """Lines split at line feeds only: JSON may contain other line separators."""
    rest, count = b"", 0
    async with aclosing(limited(chunks, MAX_BYTES, provider)) as pieces:
        async for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n")
            count += len(whole)
            if count > MAX_LINES:
                raise _too_long(provider, f"over {MAX_LINES} lines")
            for line in whole:
                yield line
            if len(rest) > MAX_LINE_BYTES:
                raise _too_long(provider, f"a line of over {MAX_LINE_BYTES} bytes")
    if rest:
        yield rest


async def limited(
    chunks: AsyncIterable[bytes], limit: int, provider: str
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes in small pieces, with a turn of the event loop for each chunk.

    ProviderUnavailable if there are more than `limit`.
    """
    read = 0
    async for chunk in chunks:
        read += len(chunk)
        if read > limit:
            raise _too_long(provider, f"over {limit} bytes")
        for at in range(0, len(chunk), _PIECE_BYTES):
            yield chunk[at : at + _PIECE_BYTES]
            await asyncio.sleep(0)


async def beginning(chunks: AsyncIterable[bytes], limit: int = MAX_ERROR_BYTES) -> bytes:
    """Return at most the first `limit` bytes; the rest is not read."""
    read = b""
    async for chunk in chunks:
        read += chunk[: limit - len(read)]
        if len(read) == limit:
            break
    return read


def answer_estimate(request: GenerationRequest) -> Units:
    """Estimate what an answer will cost."""
    texts = [request.question, *(turn.content for turn in request.history)]
    context = sum(one.tokens for one in request.context)
    return Units(_PROMPT_TOKENS + context + tokens_about(texts), MAX_ANSWER_TOKENS)


async def rewritten_by(
    answer: AsyncGenerator[GeneratorEvent, None],
    calls: ProviderCalls,
    question: str,
    history: Sequence[Turn],
) -> str:
    """Return the standalone question of a model's answer. ProviderError if it is empty."""
    text = ""
    texts = [question, *(turn.content for turn in history)]
    estimate = Units(tokens_about(texts), MAX_QUESTION_TOKENS)
    async with calls.call(estimate, REWRITE_SECONDS) as call, aclosing(answer):
        async for event in answer:
            if isinstance(event, GeneratedText):
                text += event.text
            elif isinstance(event, TextDiscarded):
                text = ""
            elif isinstance(event, GeneratedEnd):
                bill_usage(call, event)
        return rewritten(text)


def _json_object(data: bytes, provider: str) -> Event:
    try:
        event = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _unreadable(provider) from error
    if not isinstance(event, dict):
        raise _unreadable(provider)
    return event


def _unreadable(provider: str) -> ProviderUnavailable:
    return ProviderUnavailable(f"{provider} could not answer: it sent an event that is unreadable")


def _too_long(provider: str, size: str) -> ProviderUnavailable:
    return ProviderUnavailable(f"{provider} could not answer: its response has {size}")


def field_of(value: object, *path: str | int) -> object:
    """Return the value at `path` in nested objects and lists; None if it is not there."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def text_of(value: object, *path: str | int) -> str:
    """Return the text at `path`; "" if there is none."""
    found = field_of(value, *path)
    return found if isinstance(found, str) else ""


def tokens_of(value: object) -> int | None:
    """Return a count of tokens; None if it is unknown: no number, infinite, negative, absurd."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MAX_TOKENS else None


def usage_of(read: object, written: object) -> Usage:
    """Return the tokens of the prompt and the answer; `Usage()` if one of them is unknown."""
    counts = tokens_of(read), tokens_of(written)
    return Usage() if counts[0] is None or counts[1] is None else Usage(counts[0], counts[1])


class ModelText:
    """The text of one response, cleaned; a refusal in it is detected before any of it is shown."""

    def __init__(self, limit: int = MAX_CHARACTERS, *, unopened: bool = False) -> None:
        """`limit` in characters; `unopened` as in `ReceivedText`."""
        self._received = ReceivedText(limit, unopened=unopened)
        self._detector = NoAnswerDetector()

    @property
    def full(self) -> bool:
        return self._received.full

    @property
    def unopened(self) -> bool:
        """Whether the text before a `</think>` alone was reasoning."""
        return self._received.unopened

    @property
    def holding(self) -> bool:
        """Whether no text has been released so far."""
        return self._detector.holding

    @property
    def refused(self) -> bool:
        return self._detector.refused

    def feed(self, delta: str) -> Iterator[GeneratedText | TextDiscarded]:
        text = self._received.feed(delta)
        if self._received.restarted:
            self._detector = NoAnswerDetector()
            yield TextDiscarded()
        if shown := self._detector.feed(text):
            yield GeneratedText(shown)

    def close(self) -> Iterator[GeneratedText]:
        held = self._detector.feed(self._received.close()) + self._detector.close()
        if held:
            yield GeneratedText(held)

    def end(self, provider: str, usage: Usage, reason: str) -> GeneratedEnd:
        """Return the end of an answer. ProviderUnavailable without a reason of the provider."""
        if self.full:
            reason = "length"
        if not reason:
            message = f"{provider} could not answer: the stream ended before the answer did"
            raise ProviderUnavailable(message)
        if self.refused:
            return GeneratedEnd(usage, NO_ANSWER)
        return GeneratedEnd(
            usage, reason, degraded=TRUNCATED if reason.lower() in _TRUNCATED else ""
        )


def refused_call(
    provider: str,
    action: str,
    status: int,
    said: str,
    key_setting: str,
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for an HTTP response without an answer.

    `action` completes "could not ...": "embed", "rerank", "answer". `said` is the provider's
    message, on one line and short; it is left out if it has control characters. `retry_after` in
    seconds.
    """
    said = said if said.isprintable() else ""
    if status in {401, 403}:
        message = f"{provider} refused the key: set {key_setting} to a valid one"
        return ProviderAuthError(message, status=status)
    if status == 402:
        message = f"{provider} refused to {action}: the account's spending limit"
        return ProviderAuthError(message, status=status, said=said)
    if status == 429:
        message = f"{provider} allows no more calls now"
        return ProviderRateLimited(message, retry_after, status=status, said=said)
    if status in _TRANSIENT or status >= 500 or status < 400:
        # A status below 400 may come with a body that is not JSON: a proxy's page, a cut response.
        message = f"{provider} could not {action} (HTTP {status})"
        return ProviderUnavailable(message, retry_after, status=status)
    message = f"{provider} refused to {action} (HTTP {status})"
    return ProviderRejected(message, status=status, said=said)
