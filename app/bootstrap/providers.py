"""Chooses and builds the embedder, the generator and the reranker: a provider's or offline ones."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from app.adapters.e5_embedder import CrossLingualScorer, E5Embedder
from app.adapters.late_interaction import LateInteractionScorer
from app.adapters.local_embedder import LocalEmbedder
from app.adapters.minilm_embedder import MODEL as MINILM
from app.adapters.minilm_embedder import MiniLmEmbedder
from app.adapters.sqlite.spending import SqliteSpending
from app.domain.chunking.config import StrategyName
from app.domain.cost import Price, Tariff
from app.domain.errors import ConfigError, StorageError
from app.services.budget import Budget
from app.services.generators import ParagraphScorer
from app.services.ports import BookStore, Embedder, Reranker
from app.services.provider_calls import ProviderCalls
from app.services.resilience import CircuitBreaker
from app.settings import SMALL_CONTEXT, Settings

if TYPE_CHECKING:
    from app.adapters.cohere.embedder import CohereEmbedder
    from app.adapters.cohere.generator import CohereGenerator
    from app.adapters.openai_generator import OpenAIGenerator

OfflineEmbedder: TypeAlias = LocalEmbedder | MiniLmEmbedder | E5Embedder
OwnEmbedder: TypeAlias = "CohereEmbedder | OfflineEmbedder"
LanguageModel: TypeAlias = "CohereGenerator | OpenAIGenerator"
"""A model for two tasks: generating answers and rewriting follow-up questions."""


@dataclass(frozen=True, slots=True)
class CohereParts:
    """Cohere's adapters; None for those that the settings turn off."""

    embedder: CohereEmbedder | None
    language_model: LanguageModel | None
    reranker: Reranker


def cohere_key(settings: Settings) -> str | None:
    """Return Cohere's key if the settings use Cohere. ConfigError if they need it without a key."""
    wanted = {settings.embedder, settings.generator}
    if settings.cohere_api_key is None:
        if "cohere" in wanted:
            message = "RAG_EMBEDDER or RAG_GENERATOR asks for cohere: set CO_API_KEY"
            raise ConfigError(message)
        return None
    return settings.cohere_api_key.get_secret_value() if wanted & {"auto", "cohere"} else None


@dataclass(frozen=True, slots=True)
class Providers:
    """Makes the calls to the models of one application, which share its budget."""

    settings: Settings
    budget: Budget
    breakers: dict[str, CircuitBreaker] = field(default_factory=dict)
    """By the model's role: "embedder", "reranker", "rewriter", "generator"."""

    @classmethod
    def of(cls, settings: Settings) -> Providers:
        store = SqliteSpending(settings.home / "spending.sqlite")
        return cls(settings, Budget(store, settings.budget_day, settings.budget_month))

    def calls(self, role: str, name: str, model: str) -> ProviderCalls:
        """Return the calls to `model`. ConfigError if a limit needs its price."""
        price = self.settings.price(model)
        if price is None and self.budget.limited:
            message = f"a budget needs the price of {model}: set RAG_PRICES"
            raise ConfigError(message)
        self.breakers[role] = CircuitBreaker(name)
        return ProviderCalls(self.budget, price or Price(), self.breakers[role])

    def chat(self, name: str, model: str) -> tuple[ProviderCalls, ProviderCalls]:
        """Return the calls for answers and those for rewriting questions.

        Each has a breaker: a model too slow for rewriting may still write answers.
        """
        rewriting = self.calls("rewriter", f"{name} for questions", model)
        return self.calls("generator", name, model), rewriting


def tariff_of(settings: Settings, embedder: OwnEmbedder) -> Tariff:
    if isinstance(embedder, OfflineEmbedder):
        return Tariff(embedder.limits)
    price = settings.price(embedder.model)
    return Tariff(embedder.limits, price.input_tokens if price else None)


async def pick_embedder(
    settings: Settings, cohere: CohereParts | None, index: BookStore, strategy: str | None
) -> OwnEmbedder:
    if cohere and cohere.embedder:
        return cohere.embedder
    if settings.embedder == "e5":
        return await asyncio.to_thread(E5Embedder.load)
    if settings.embedder == "minilm" or (
        settings.embedder == "auto" and await _is_late(index, strategy)
    ):
        return await asyncio.to_thread(MiniLmEmbedder.load)
    return await local_embedder()


async def local_embedder(embedder: Embedder | None = None) -> LocalEmbedder:
    """Return `embedder` if it is the local one, else load that: answerability needs it."""
    if isinstance(embedder, LocalEmbedder):
        return embedder
    if _load_once.cache_info().currsize:
        return _load_once()
    return await asyncio.to_thread(_local_model)


def _local_model() -> LocalEmbedder:
    with _loading:  # the first questions may arrive at the same time
        return _load_once()


_loading = threading.Lock()
_load_once = cache(LocalEmbedder.load)


async def _is_late(index: BookStore, strategy: str | None) -> bool:
    """Whether `strategy` is late chunking; if it is None, whether all indexed books use it."""
    if strategy is not None:
        return strategy == StrategyName.LATE
    try:
        books = await index.books()
    except StorageError:
        return False  # the first use of the index raises the error again
    return bool(books) and all(one.model == MINILM for one in books.named())


async def pick_paragraph_scorer(
    settings: Settings, embedder: OwnEmbedder
) -> ParagraphScorer | None:
    """Return the scorer that chooses the paragraphs of offline answers.

    None if the static local model chooses them.
    """
    if isinstance(embedder, MiniLmEmbedder) and settings.paragraph_model != "local":
        return LateInteractionScorer(embedder)
    if settings.paragraph_model == "minilm":
        return LateInteractionScorer(await asyncio.to_thread(MiniLmEmbedder.load))
    return CrossLingualScorer(embedder) if isinstance(embedder, E5Embedder) else None


async def pick_language_model(
    providers: Providers, cohere: CohereParts | None, stack: AsyncExitStack
) -> LanguageModel | None:
    """Return the model that generates answers; None if answers are extractive."""
    settings = providers.settings
    if settings.generator != "openai":
        return cohere.language_model if cohere else None
    from app.adapters.openai_generator import OpenAIGenerator, open_server  # noqa: PLC0415

    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    client = await stack.enter_async_context(open_server(settings.openai_base_url, key))
    return OpenAIGenerator(
        client,
        *providers.chat("the model server", settings.openai_model),
        settings.openai_model,
        short_prompt=settings.context_tokens <= SMALL_CONTEXT,
    )
