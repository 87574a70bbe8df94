"""Chooses and builds the embedder, the generator and the reranker: a provider's or offline ones."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import cache
from typing import TYPE_CHECKING

from app.adapters.fastembed.models import EMBEDDER, RERANKER
from app.adapters.fastembed.reranker import FastembedReranker
from app.adapters.sqlite.spending import SqliteSpending
from app.adapters.tokens import token_counter
from app.bootstrap.home_server import HomeServer, home_server
from app.domain.cost import Price
from app.domain.errors import ConfigError
from app.services.budget import Budget, Period
from app.services.ports import Embedder, RelevanceModel, Reranker
from app.services.provider_calls import ProviderCalls
from app.services.resilience import CircuitBreaker
from app.services.similarity import CrossLingualScorer, SimilarityEncoder
from app.settings import SMALL_CONTEXT, Settings

if TYPE_CHECKING:
    from app.adapters.local_embedder import LocalEmbedder
    from app.adapters.providers.chat import ChatModel
    from app.adapters.providers.cohere_client import CohereClient
    from app.adapters.providers.cohere_embedder import CohereEmbedder
    from app.adapters.providers.openai_chat import OpenAIGenerator

_log = logging.getLogger(__name__)


class Providers:
    """Opens the models of one application; their calls share its budget."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        """`stack` closes the clients with the application."""
        self.settings = settings
        limits: dict[Period, float | None]
        limits = {"month": settings.budget_month, "day": settings.budget_day}
        known = {period: usd for period, usd in limits.items() if usd is not None}
        self.budget = Budget(SqliteSpending(settings.home / "spending.sqlite"), known)
        self.breakers: dict[str, CircuitBreaker] = {}
        """By the model's role: "embedder", "reranker", "rewriter", "generator"."""
        self._stack = stack
        self._cohere: CohereClient | None = None

    async def embedder(self) -> Embedder:
        if self._by_cohere(self.settings.embedder):
            return await self._cohere_embedder()
        if name := fastembed_model(self.settings.embedder, EMBEDDER):
            from app.adapters.fastembed.embedder import FastembedEmbedder  # noqa: PLC0415

            folder = self.settings.models_folder
            return await asyncio.to_thread(FastembedEmbedder.load, name, folder)
        return await local_embedder()

    async def reranker(self) -> Reranker | None:
        settings = self.settings
        if name := fastembed_model(settings.reranker, RERANKER):
            return await asyncio.to_thread(FastembedReranker.load, name, settings.models_folder)
        used_anyway = map(self._by_cohere, (settings.embedder, settings.generator))
        if settings.reranker == "none" or not (settings.reranker == "cohere" or any(used_anyway)):
            return None
        client = await self._client()
        from app.adapters.providers.cohere_reranker import CohereReranker  # noqa: PLC0415

        calls = self._calls("reranker", "Cohere's rerank", settings.cohere_rerank_model)
        return CohereReranker(client, calls, token_counter())

    async def language_model(self) -> ChatModel | None:
        """Return the model that generates answers; None if answers are extractive."""
        settings = self.settings
        if self._by_cohere(settings.generator):
            client = await self._client()
            from app.adapters.providers.cohere_chat import CohereGenerator  # noqa: PLC0415

            calls = self._chat("Cohere's chat", settings.cohere_chat_model)
            return CohereGenerator(client.provider, *calls)
        if settings.generator == "openai":
            own = HomeServer(settings.openai_base_url, settings.openai_model)
            return await self._on_server(own)
        found = await home_server(settings) if settings.generator == "auto" else None
        if found is None:
            return None
        fields = {"model": found.model, "server": found.base_url, "off": "RAG_GENERATOR=extractive"}
        _log.info("generator.found_on_this_machine", extra=fields)
        return await self._on_server(found, Price())

    async def fault(self, role: str) -> str:
        """Return why the model of a role is not called; "" if it is, or if there is none."""
        if role not in self.breakers:
            return ""
        return self.breakers[role].fault or await self.budget.fault()

    def _by_cohere(self, choice: str) -> bool:
        """Whether a setting chooses Cohere: it names it, or is `auto` and there is a key."""
        return choice == "cohere" or (choice == "auto" and self.settings.cohere_api_key is not None)

    async def _client(self) -> CohereClient:
        """Open Cohere's client, at the first use. ConfigError without a key."""
        if self._cohere is None:
            key = self.settings.cohere_api_key
            if key is None:
                raise ConfigError(
                    "RAG_EMBEDDER, RAG_RERANKER or RAG_GENERATOR asks for cohere: set CO_API_KEY"
                )
            # The import takes a third of a second, so it is delayed until the provider is used.
            from app.adapters.providers.cohere_client import open_client  # noqa: PLC0415

            opening = open_client(key.get_secret_value(), self.settings.cohere_base_url)
            self._cohere = await self._stack.enter_async_context(opening)
        return self._cohere

    async def _cohere_embedder(self) -> CohereEmbedder:
        client = await self._client()
        from app.adapters.providers import cohere_embedder  # noqa: PLC0415

        models = [one.strip() for one in self.settings.cohere_embed_model.split(",")]
        tariff = cohere_embedder.TARIFFS[self.settings.cohere_tier]
        # Each model has its own price. The last of the two breakers is that of questions.
        documents, questions = (
            self._calls("embedder", "Cohere's embed", one) for one in (models[0], models[-1])
        )
        limiter = cohere_embedder.RateLimiter(tariff)
        return cohere_embedder.CohereEmbedder(
            client, documents, questions, limiter, token_counter()
        )

    async def _on_server(self, server: HomeServer, price: Price | None = None) -> OpenAIGenerator:
        from app.adapters.providers import openai_chat  # noqa: PLC0415 - see _client

        calls = self._chat("the model server", server.model, price)
        key, short = self.settings.openai_api_key, self.settings.context_tokens <= SMALL_CONTEXT
        opening = openai_chat.open_server(server.base_url, key.get_secret_value() if key else None)
        client = await self._stack.enter_async_context(opening)
        return openai_chat.OpenAIGenerator(client, *calls, short_prompt=short)

    def _chat(
        self, name: str, model: str, price: Price | None = None
    ) -> tuple[ProviderCalls, ProviderCalls]:
        """Return the calls for answers and those for rewriting questions.

        Each has a breaker: a model too slow for rewriting may still write answers.
        """
        rewriting = self._calls("rewriter", f"{name} for questions", model, price)
        return self._calls("generator", name, model, price), rewriting

    def _calls(self, role: str, name: str, model: str, price: Price | None = None) -> ProviderCalls:
        """Return the calls to `model`. ConfigError if a limit needs its price."""
        price = price or self.settings.price(model)
        if price is None and self.budget.limits:
            raise ConfigError(f"a budget needs the price of {model}: set RAG_PRICES")
        self.breakers[role] = CircuitBreaker(name)
        return ProviderCalls(model, self.budget, price, self.breakers[role])


def fastembed_model(setting: str, default: str) -> str:
    """Return the model of a setting such as `fastembed:MODEL`; "" if it is none."""
    kind, _, name = setting.partition(":")
    return (name or default) if kind == "fastembed" else ""


async def local_embedder() -> LocalEmbedder:
    """Return the static local model, loaded once in a process."""
    return await asyncio.to_thread(_local_model)


@cache
def _local_model() -> LocalEmbedder:
    # The import takes a tenth of a second for numpy, which most commands do without.
    from app.adapters.local_embedder import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder.load()


async def similarity_encoder() -> SimilarityEncoder:
    """Return what compares texts by the static local model."""
    from app.adapters.local_embedder import inner_products  # noqa: PLC0415 - see _local_model

    return SimilarityEncoder(await local_embedder(), inner_products)


def paragraph_scorers(
    embedder: Embedder, reranker: Reranker | None, similarity: SimilarityEncoder
) -> list[RelevanceModel]:
    """Return what chooses the paragraphs of offline answers in place of the static local model."""
    found: list[RelevanceModel] = []
    if isinstance(reranker, FastembedReranker):
        found.append(reranker)
    if embedder.multilingual:
        found.append(CrossLingualScorer(embedder, similarity.inner_products))
    return found
