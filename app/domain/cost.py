"""Cost of a provider's calls: price, number of calls, minutes at its rate limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from operator import add


@dataclass(frozen=True, slots=True)
class Units:
    """Billed units: tokens, and searches of a reranker."""

    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0

    def __add__(self, other: Units) -> Units:
        return Units(*map(add, astuple(self), astuple(other)))


NOTHING = Units()


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and per thousand searches."""

    input_tokens: float = 0.0
    output_tokens: float = 0.0
    searches: float = 0.0

    def of(self, units: Units) -> float:
        tokens = units.input_tokens * self.input_tokens + units.output_tokens * self.output_tokens
        return tokens / 1e6 + units.searches * self.searches / 1e3


@dataclass(frozen=True, slots=True)
class Tariff:
    """What an embedder takes in a call and in a minute, and its price; None means no limit."""

    texts_per_call: int | None = None
    tokens_per_call: int | None = None
    tokens_per_text: int | None = None
    """Longer texts are cut at the end."""
    calls_per_minute: int | None = None
    texts_per_minute: int | None = None
    tokens_per_minute: int | None = None
    price: Price | None = Price()
    """None if it is not known."""

    def batches(self, counts: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield spans [start, end) of consecutive texts that go into one call.

        `counts` are the texts' tokens. A text above `tokens_per_call` is alone in its span.
        """
        most_texts, most_tokens = self.texts_per_call or math.inf, self.tokens_per_call or math.inf
        start, tokens = 0, 0
        for at, count in enumerate(counts):
            if at > start and (at - start == most_texts or tokens + count > most_tokens):
                yield start, at
                start, tokens = at, 0
            tokens += count
        if start < len(counts):
            yield start, len(counts)

    def minutes(self, counts: Sequence[int]) -> float:
        """Return the minutes at the tightest rate limit, without the response time."""
        amounts = (
            (sum(1 for _ in self.batches(counts)), self.calls_per_minute),
            (len(counts), self.texts_per_minute),
            (sum(counts), self.tokens_per_minute),
        )
        return max(amount / limit if limit else 0.0 for amount, limit in amounts)

    def usd(self, counts: Sequence[int]) -> float | None:
        """Return the price of texts with these token counts; None if it is not known."""
        return self.price.of(Units(sum(counts))) if self.price else None
