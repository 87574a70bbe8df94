"""Cost of a provider's calls: price, number of calls, minutes at its rate limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Units:
    """Billed units: tokens, and searches of a reranker."""

    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0

    def __add__(self, other: Units) -> Units:
        return Units(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.searches + other.searches,
        )


NOTHING = Units()


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and per thousand searches."""

    input_tokens: float = 0.0
    output_tokens: float = 0.0
    searches: float = 0.0

    def of(self, units: Units) -> float:
        """Return the price of these units in US dollars."""
        tokens = units.input_tokens * self.input_tokens + units.output_tokens * self.output_tokens
        return tokens / 1e6 + units.searches * self.searches / 1e3


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Limits of a provider's key for one endpoint; None means no limit."""

    calls_per_minute: int | None = None
    inputs_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class EmbedderLimits:
    """How an embedder packs texts into calls; None means no limit."""

    texts_per_call: int | None = None
    tokens_per_call: int | None = None
    tokens_per_text: int | None = None
    """Longer texts are cut at the end."""
    rates: RateLimits = RateLimits()


@dataclass(frozen=True, slots=True)
class Tariff:
    """`usd_per_million_tokens` is None if the model's price is not known."""

    limits: EmbedderLimits = EmbedderLimits()
    usd_per_million_tokens: float | None = 0.0

    def price(self, tokens: int) -> float | None:
        """Return the price of these tokens in US dollars; None if it is not known."""
        if self.usd_per_million_tokens is None:
            return None
        return tokens * self.usd_per_million_tokens / 1e6

    def estimate(self, counts: Sequence[int]) -> Cost:
        """Return the cost of embedding texts with these token counts."""
        limits, tokens = self.limits, sum(counts)
        batches = sum(1 for _ in pack(counts, limits.texts_per_call, limits.tokens_per_call))
        amounts = (
            (batches, limits.rates.calls_per_minute),
            (len(counts), limits.rates.inputs_per_minute),
            (tokens, limits.rates.tokens_per_minute),
        )
        minutes = max(amount / limit if limit else 0.0 for amount, limit in amounts)
        return Cost(len(counts), tokens, batches, minutes, self.price(tokens))


FREE = Tariff()
"""Tariff of a model in this process."""


@dataclass(frozen=True, slots=True)
class Cost:
    texts: int
    tokens: int
    batches: int
    minutes: float
    """Minutes at the tightest rate limit, without the provider's response time."""
    usd: float | None
    """None if the price is not known."""


def pack(
    counts: Sequence[int], max_texts: int | None, max_tokens: int | None
) -> Iterator[tuple[int, int]]:
    """Yield spans [start, end) of consecutive texts within both limits.

    `counts` are the texts' tokens. A text above `max_tokens` is alone in its span.
    """
    most_texts, most_tokens = max_texts or math.inf, max_tokens or math.inf
    start, tokens = 0, 0
    for position, count in enumerate(counts):
        if position > start and (position - start == most_texts or tokens + count > most_tokens):
            yield start, position
            start, tokens = position, 0
        tokens += count
    if start < len(counts):
        yield start, len(counts)
