"""Chooses and builds the embedder, the generator and the reranker: a provider's or offline ones."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from app.adapters.e5_embedder import CrossLingualScorer, E5Embedder
from app.adapters.late_interaction import LateInteractionScorer
from app.adapters.local_embedder import LocalEmbedder
from app.adapters.minilm_embedder import MODEL as MINILM
from app.adapters.minilm_embedder import MiniLmEmbedder
from app.adapters.sqlite.spending import SqliteSpending
from app.domain.chunking.config import StrategyName
from app.domain.cost import Price, Tariff
from app.domain.errors import ConfigError, StorageError
from app.services.budget import (
    Budget,
    Meter,
    MeteredEmbedder,
    MeteredGenerator,
    MeteredRewriter,
)
from app.services.generators import Generator, ParagraphScorer
from app.services.ports import BookStore, Embedder, QuestionEmbedder, QuestionRewriter, Reranker
from app.services.prompt_speed import PromptSpeed
from app.services.resilience import (
    CircuitBreaker,
    GuardedEmbedder,
    GuardedGenerator,
    GuardedRewriter,
)
from app.settings import Settings

if TYPE_CHECKING:
    from app.adapters.cohere.embedder import CohereEmbedder
    from app.adapters.cohere.generator import CohereGenerator
    from app.adapters.openai_generator import OpenAIGenerator

T = TypeVar("T")

OfflineEmbedder: TypeAlias = LocalEmbedder | MiniLmEmbedder | E5Embedder
OwnEmbedder: TypeAlias = "CohereEmbedder | OfflineEmbedder"


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model for two tasks: generating answers and rewriting follow-up questions."""

    generator: Generator
    rewriter: QuestionRewriter
    check: Callable[[], Awaitable[None]] | None = None
    """Raises ProviderError if the model server is down; None if a check would cost money."""


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


def language_model(
    settings: Settings,
    model: CohereGenerator | OpenAIGenerator,
    name: str,
    first_seconds: float,
    check: Callable[[], Awaitable[None]] | None = None,
) -> LanguageModel:
    seconds = settings.rewrite_timeout_seconds
    found = settings.chat_price(model.model)
    price = Price(*known_price(settings, found, model.model, "RAG_CHAT_PRICES", (0.0, 0.0)))
    generator = MeteredGenerator(model, budget(settings), price, model.max_tokens)
    rewriter = MeteredRewriter(model, Meter(budget(settings), price, model.rewrites))
    return LanguageModel(
        GuardedGenerator(generator, breaker_of(settings, name), first_seconds),
        GuardedRewriter(rewriter, breaker_of(settings, f"{name} for questions"), seconds),
        check,
    )


def budget(settings: Settings) -> Budget:
    """Return the budget with the limits of the settings; it stores the spending in RAG_HOME."""
    store = SqliteSpending(settings.home / "spending.sqlite")
    return Budget(store, settings.budget_day, settings.budget_month)


def known_price(settings: Settings, price: T | None, model: str, setting: str, free: T) -> T:
    """Return the price, or `free` if it is unknown. ConfigError if a limit needs the price."""
    ceilings = (settings.budget_day, settings.budget_month)
    if price is None and any(ceiling is not None for ceiling in ceilings):
        message = f"a budget needs the price of {model}: set {setting}"
        raise ConfigError(message)
    return free if price is None else price


def metered(settings: Settings, embedder: OwnEmbedder) -> Embedder:
    """Return the embedder with its calls charged to the budget; a local one costs nothing."""
    if isinstance(embedder, OfflineEmbedder):
        return embedder
    found = settings.embed_price(embedder.model)
    usd = known_price(settings, found, embedder.model, "RAG_EMBED_PRICES", 0.0)
    return MeteredEmbedder(embedder, Meter(budget(settings), Price(usd), embedder.bill))


def question_embedder(settings: Settings, embedder: Embedder) -> QuestionEmbedder:
    """Return the embedder for questions, with a time limit and a circuit breaker."""
    if not isinstance(embedder, MeteredEmbedder):
        return embedder
    breaker = breaker_of(settings, "Cohere's embed")
    return GuardedEmbedder(embedder, breaker, settings.embed_timeout_seconds)


def breaker_of(settings: Settings, name: str) -> CircuitBreaker:
    return CircuitBreaker(
        name, settings.breaker_failures, settings.breaker_seconds, clock=time.monotonic
    )


def tariff_of(settings: Settings, embedder: OwnEmbedder) -> Tariff:
    local = isinstance(embedder, OfflineEmbedder)
    return Tariff(embedder.limits, 0.0 if local else settings.embed_price(embedder.model))


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
    settings: Settings, cohere: CohereParts | None, stack: AsyncExitStack
) -> LanguageModel | None:
    """Return the model that generates answers; None if answers are extractive."""
    if settings.generator != "openai":
        return cohere.language_model if cohere else None
    from app.adapters.openai_generator import OpenAIGenerator, open_server  # noqa: PLC0415

    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    timeout = settings.openai_timeout_seconds
    client = await stack.enter_async_context(open_server(settings.openai_base_url, key, timeout))
    speed = PromptSpeed(
        settings.openai_first_token_seconds,
        timeout,
        max(timeout, settings.openai_first_token_timeout_seconds),
    )
    model = OpenAIGenerator(
        client,
        settings.openai_model,
        timeout,
        settings.openai_max_tokens,
        short_prompt=settings.openai_prompt == "short",
        speed=speed,
        min_context_tokens=settings.openai_min_context_tokens,
    )
    # Longer than the adapter's limit, so that the adapter's error, which names settings, is raised.
    seconds = speed.most_limit + 1
    return language_model(settings, model, "the model server", seconds, model.check)
