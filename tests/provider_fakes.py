"""Calls to a provider that cost nothing, and circuit breakers that open early or late."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from app.adapters.providers.cohere_client import CohereClient
from app.adapters.providers.cohere_embedder import TARIFFS, CohereEmbedder, RateLimiter
from app.adapters.providers.cohere_reranker import CohereReranker
from app.adapters.sqlite.spending import SqliteSpending
from app.bootstrap import providers
from app.domain.cost import Price, Tariff
from app.services.budget import Budget
from app.services.provider_calls import ProviderCalls
from app.services.resilience import CircuitBreaker
from tests.made_chunks import count_words

_FOLDER = TemporaryDirectory()
"""Deleted when the tests end."""


def free_calls(model: str = "llama", price: Price | None = None, **options: Any) -> ProviderCalls:
    """Without a limit on spending."""
    budget = Budget(SqliteSpending(Path(_FOLDER.name) / "spending.sqlite"), {})
    given = {"breaker": CircuitBreaker("the provider"), **options}
    return ProviderCalls(model, budget, price, **given)


@contextmanager
def opening_after(failures: int) -> Iterator[None]:
    """Circuits of applications that the block opens take so many failures to open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "CircuitBreaker", partial(CircuitBreaker, failures=failures))
        yield


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
