"""Relevance by Cohere's rerank models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from app.adapters.cohere.client import request_options
from app.adapters.cohere.errors import provider_errors
from app.adapters.cohere.limiter import Slot
from app.adapters.cohere.retries import READER, Calls
from app.domain.cost import Units
from app.domain.errors import ProviderError
from app.domain.prompts import visible
from app.services.provider_calls import ProviderCalls
from app.services.provider_stream import tokens_of

if TYPE_CHECKING:
    from cohere import AsyncClientV2, V2RerankResponse

_TEXTS_PER_SEARCH = 100
"""Maximum documents billed as one search (https://cohere.com/pricing)."""


@dataclass(frozen=True, slots=True)
class CohereReranker:
    """Implements the `Reranker` port."""

    client: AsyncClientV2
    calls: Calls
    provider: ProviderCalls
    model: str
    seconds: float = 3.0
    """Time limit, retries included; after it the order of the search is kept."""

    async def rerank(
        self, question: str, texts: Sequence[str], top_n: int
    ) -> list[tuple[int, float]]:
        """At most `top_n` pairs (position in `texts`, relevance 0 to 1), by descending relevance.

        The model reads only the first 4,096 tokens of a text.
        """
        if not texts or top_n < 1:
            return []

        async def send(_slot: Slot) -> list[tuple[int, float]]:
            with provider_errors("rerank"):
                response = await self.client.rerank(
                    model=self.model,
                    query=visible(question),
                    documents=list(texts),
                    top_n=min(top_n, len(texts)),
                    request_options=request_options(self.seconds),
                )
                if searches := _billed_searches(response):
                    call.bill(Units(searches=searches))
                return _ranking(response, len(texts))

        estimate = Units(searches=ceil(len(texts) / _TEXTS_PER_SEARCH))
        async with self.provider.call(estimate, self.seconds) as call:
            return (await self.calls.run(send, READER))[:top_n]


def _billed_searches(response: V2RerankResponse) -> int | None:
    units = getattr(getattr(response, "meta", None), "billed_units", None)
    return tokens_of(getattr(units, "search_units", None))


def _ranking(response: V2RerankResponse, count: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for result in getattr(response, "results", None) or ():
        index, score = result.index, result.relevance_score
        if index not in range(count) or index in scores or not _is_relevance(score):
            message = "Cohere could not rerank: its ranking is invalid"
            raise ProviderError(message)
        scores[index] = score
    if not scores:
        message = "Cohere could not rerank: an empty ranking"
        raise ProviderError(message)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _is_relevance(score: object) -> bool:
    """Whether it is a number from 0 to 1. The SDK does not check types: a missing score is None."""
    return isinstance(score, float | int) and 0.0 <= score <= 1.0
