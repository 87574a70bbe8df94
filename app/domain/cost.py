"""What it takes to embed texts with a provider: calls, minutes at its rate limits, money."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How an embedder packs texts into calls, and how many of them a minute lets through.

    None means no limit. The defaults are those of a model in this process.
    """

    texts_per_call: int | None = None
    tokens_per_call: int | None = None
    tokens_per_text: int | None = None
    """What is longer is cut at its end."""
    calls_per_minute: int | None = None
    inputs_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class Tariff:
    """`usd_per_million_tokens` is None when no price is known for the model."""

    pace: Pace = Pace()
    usd_per_million_tokens: float | None = 0.0

    def price(self, tokens: int) -> float | None:
        """US dollars."""
        if self.usd_per_million_tokens is None:
            return None
        return tokens * self.usd_per_million_tokens / 1e6

    def estimate(self, counts: Sequence[int]) -> Cost:
        """Of texts with so many tokens each."""
        pace, tokens = self.pace, sum(counts)
        batches = sum(1 for _ in pack(counts, pace.texts_per_call, pace.tokens_per_call))
        limits = (
            (batches, pace.calls_per_minute),
            (len(counts), pace.inputs_per_minute),
            (tokens, pace.tokens_per_minute),
        )
        minutes = max(amount / limit if limit else 0.0 for amount, limit in limits)
        return Cost(len(counts), tokens, batches, minutes, self.price(tokens))


FREE = Tariff()
"""Of a model in this process."""


@dataclass(frozen=True, slots=True)
class Cost:
    texts: int
    tokens: int
    batches: int
    minutes: float
    """At the tightest of the provider's rate limits; its own time to answer is not in it."""
    usd: float | None
    """None when no price is known."""


def pack(
    counts: Sequence[int], max_texts: int | None, max_tokens: int | None
) -> Iterator[tuple[int, int]]:
    """Spans [start, end) of consecutive texts within both limits; a longer text goes alone."""
    most_texts, most_tokens = max_texts or math.inf, max_tokens or math.inf
    start, tokens = 0, 0
    for position, count in enumerate(counts):
        if position > start and (position - start == most_texts or tokens + count > most_tokens):
            yield start, position
            start, tokens = position, 0
        tokens += count
    if start < len(counts):
        yield start, len(counts)
