"""Helpers of all provider adapters: reading a stream with a timeout, errors for HTTP statuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing
from typing import Protocol, TypeVar

from app.domain.answer import Usage
from app.domain.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)
from app.domain.prompts import NO_ANSWER, NoAnswerDetector
from app.services.generators import GeneratedEnd, GeneratorEvent

Event = TypeVar("Event")
Event_contra = TypeVar("Event_contra", contravariant=True)

# 408 and 409 are temporary; 499 is Cohere's "request cancelled".
_TRANSIENT = frozenset({408, 409, 499})


class StreamReader(Protocol[Event_contra]):
    """Converts a provider's events to the port's events."""

    def feed(self, event: Event_contra) -> Iterator[GeneratorEvent]:
        """Raise ProviderError if the event reports that the generation failed."""
        ...

    def close(self) -> Iterator[GeneratorEvent]:
        """Return the remaining events. ProviderUnavailable if the stream ended too early."""
        ...


async def read_stream(
    events: AsyncGenerator[Event, None],
    reader: StreamReader[Event],
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
                ended = event is None
                produced = list(reader.close() if event is None else reader.feed(event))
            for item in produced:
                yield item


def generated_end(
    provider: str, usage: Usage, reason: str | None, detector: NoAnswerDetector
) -> GeneratedEnd:
    """Return the end of an answer. ProviderUnavailable if the provider gave no reason to end."""
    if reason is None:
        message = f"{provider} could not answer: the stream ended before the answer did"
        raise ProviderUnavailable(message)
    return GeneratedEnd(usage, NO_ANSWER if detector.refused else reason)


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
    message, on one line and short. `retry_after` in seconds.
    """
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
