"""The Cohere adapters on the real SDK, wired to the local double and a clock that costs no time."""

from __future__ import annotations

import asyncio
from typing import Any

from app.adapters.providers.cohere_client import CohereClient
from app.adapters.providers.cohere_embedder import CohereEmbedder
from app.adapters.providers.cohere_reranker import CohereReranker
from app.domain.cost import RateLimits
from app.services.rate_limiter import RateLimiter
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


def unlimited() -> RateLimiter:
    """Without limits and without real back-off."""
    clock = InstantClock()
    return RateLimiter(RateLimits(), clock=clock.now, sleep=clock.sleep)


def cohere_embedder(
    client: CohereClient, limiter: RateLimiter | None = None, **options: Any
) -> CohereEmbedder:
    calls = free_calls(limiter=limiter or unlimited())
    given = {"count_tokens": count_words, "model": "embed-v4.0", "dimension": 256, **options}
    return CohereEmbedder(client, calls, **given)


def cohere_reranker(client: CohereClient, model: str = "rerank-v3.5") -> CohereReranker:
    return CohereReranker(client, free_calls(), count_words, model)
