"""The Cohere adapters on the real SDK, wired to the local double and a clock that costs no time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.adapters.providers.cohere_client import CohereClient, CohereReranker
from app.adapters.providers.cohere_embedder import TARIFFS, CohereEmbedder, RateLimiter
from app.domain.cost import Price, Tariff
from tests.made_chunks import count_words
from tests.provider_fakes import free_calls


class InstantClock:
    """Sleeping moves it on at once."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


def cohere_embedder(
    client: CohereClient,
    tariff: Tariff = TARIFFS["production"],
    model: str = "embed-v4.0",
    count_tokens: Callable[[str], int] = count_words,
    price: Price | None = None,
) -> CohereEmbedder:
    """Without real back-off."""
    clock = InstantClock()
    calls = free_calls(model, price, sleep=clock.sleep)
    limiter = RateLimiter(tariff, clock.now, clock.sleep)
    return CohereEmbedder(client, calls, calls, limiter, count_tokens)


def cohere_reranker(client: CohereClient, model: str = "rerank-v3.5") -> CohereReranker:
    return CohereReranker(client, free_calls(model), count_words)
