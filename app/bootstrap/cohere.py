"""Opens Cohere's client and builds the embedder, the generator and the reranker on it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from app.adapters.cohere.client import CohereClient, open_client
from app.adapters.cohere.embedder import CohereEmbedder
from app.adapters.cohere.generator import CohereGenerator
from app.adapters.cohere.limiter import (
    Endpoint,
    MonthlyCalls,
    RateLimiter,
    default_limits,
)
from app.adapters.cohere.reranker import CohereReranker
from app.adapters.cohere.retries import Calls
from app.adapters.tokens import token_counter
from app.bootstrap.providers import (
    CohereParts,
    LanguageModel,
    breaker_of,
    budget,
    known_price,
    language_model,
)
from app.domain.cost import Price, RateLimits
from app.services.budget import Meter, MeteredReranker
from app.services.ports import Reranker
from app.services.resilience import GuardedReranker
from app.settings import Settings

if TYPE_CHECKING:
    from cohere import AsyncClientV2


async def open_cohere(settings: Settings, key: str, stack: AsyncExitStack) -> CohereParts:
    client = await stack.enter_async_context(
        open_client(
            key,
            settings.cohere_base_url,
            settings.cohere_timeout_seconds,
        )
    )
    months = MonthlyCalls(settings.home)

    def calls(endpoint: Endpoint) -> Calls:
        return Calls(RateLimiter(_limits(settings, endpoint), months))

    local = settings.embedder in {"local", "minilm", "e5"}
    writes = settings.generator in {"auto", "cohere"}
    return CohereParts(
        embedder=None if local else _cohere_embedder(settings, client.sdk, calls("embed")),
        language_model=_cohere_language_model(settings, client, calls("chat")) if writes else None,
        reranker=_cohere_reranker(settings, client.sdk, calls("rerank")),
    )


def _cohere_embedder(settings: Settings, client: AsyncClientV2, calls: Calls) -> CohereEmbedder:
    return CohereEmbedder(
        client,
        calls,
        token_counter(),
        model=settings.cohere_embed_model,
        dimension=settings.cohere_embed_dimension,
        timeout_seconds=settings.cohere_timeout_seconds,
        batch_tokens=settings.cohere_batch_tokens,
    )


def _cohere_language_model(settings: Settings, client: CohereClient, calls: Calls) -> LanguageModel:
    model = CohereGenerator(
        client.http, calls, settings.cohere_chat_model, settings.cohere_timeout_seconds
    )
    return language_model(settings, model, "Cohere's chat", settings.first_token_timeout_seconds)


def _cohere_reranker(settings: Settings, client: AsyncClientV2, calls: Calls) -> Reranker:
    seconds = settings.rerank_timeout_seconds
    name = settings.cohere_rerank_model
    model = CohereReranker(client, calls, name, seconds)
    usd = known_price(settings, settings.rerank_price(name), name, "RAG_RERANK_PRICES", 0.0)
    meter = Meter(budget(settings), Price(searches=usd), model.bill)
    breaker = breaker_of(settings, "Cohere's rerank")
    return GuardedReranker(MeteredReranker(model, meter), breaker, seconds)


def _limits(settings: Settings, endpoint: Endpoint) -> RateLimits:
    """Return the rate limits of the tier, overridden by the settings."""
    limits = default_limits(settings.cohere_tier, endpoint)
    given = {"calls_per_month": settings.cohere_calls_per_month}
    if endpoint == "embed":
        given |= {
            "calls_per_minute": settings.cohere_embed_calls_per_minute,
            "inputs_per_minute": settings.cohere_embed_inputs_per_minute,
            "tokens_per_minute": settings.cohere_embed_tokens_per_minute,
        }
    return replace(limits, **{name: value for name, value in given.items() if value is not None})
