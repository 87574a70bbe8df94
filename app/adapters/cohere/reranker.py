"""Relevance by Cohere's rerank models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.adapters.cohere.client import request_options
from app.adapters.cohere.errors import provider_errors
from app.adapters.cohere.limiter import Slot
from app.adapters.cohere.retries import READER, Calls
from app.domain.cost import Bill, Units
from app.domain.errors import ProviderError
from app.domain.prompts import visible
from app.services.provider_stream import tokens_of

if TYPE_CHECKING:
    from cohere import AsyncClientV2, V2RerankResponse


@dataclass(frozen=True, slots=True)
class CohereReranker:
    """Implements the `Reranker` port. `timeout_seconds` is for each attempt."""

    client: AsyncClientV2
    calls: Calls
    model: str
    timeout_seconds: float = 3.0
    bill: Bill = field(default_factory=Bill, compare=False)

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
                    request_options=request_options(self.timeout_seconds),
                )
                self.bill.add(_billed(response))
                return _ranking(response, len(texts))

        return (await self.calls.run(send, READER))[:top_n]


def _billed(response: V2RerankResponse) -> Units:
    units = getattr(getattr(response, "meta", None), "billed_units", None)
    return Units(searches=tokens_of(getattr(units, "search_units", None)) or 0)


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
