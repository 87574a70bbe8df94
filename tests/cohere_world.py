"""The Cohere adapters on the real SDK, wired to the local double and a clock that costs no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.adapters.providers.cohere_client import CohereClient, open_client
from app.adapters.providers.cohere_embedder import ATTEMPT_SECONDS, QUESTION_SECONDS, CohereEmbedder
from app.domain.cost import RateLimits
from app.services.rate_limiter import RateLimiter
from tests.cohere_double import CohereDouble
from tests.provider_fakes import free_calls


def count_words(text: str) -> int:
    """A token counter that a test can predict."""
    return len(text.split())


class InstantClock:
    """Sleeping moves it on at once."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


def unlimited() -> RateLimiter:
    """Without limits and without real back-off."""
    clock = InstantClock()
    return RateLimiter(RateLimits(), clock=clock.now, sleep=clock.sleep)


@dataclass
class World:
    client: CohereClient

    def embedder(
        self,
        limiter: RateLimiter | None = None,
        *,
        model: str = "embed-v4.0",
        dimension: int = 256,
        question_seconds: float = QUESTION_SECONDS,
        attempt_seconds: float = ATTEMPT_SECONDS,
        batch_tokens: int = 48_000,
        count_tokens: Callable[[str], int] = count_words,
    ) -> CohereEmbedder:
        return CohereEmbedder(
            self.client,
            free_calls(limiter=limiter or unlimited()),
            count_tokens,
            model=model,
            dimension=dimension,
            question_seconds=question_seconds,
            attempt_seconds=attempt_seconds,
            batch_tokens=batch_tokens,
        )


@asynccontextmanager
async def connected(double: CohereDouble) -> AsyncIterator[World]:
    async with open_client(double.key, double.url) as client:
        yield World(client)
