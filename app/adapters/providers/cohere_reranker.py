"""Relevance by Cohere's rerank models."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from app.adapters.providers.cohere_client import NO_RETRIES, CohereClient
from app.adapters.providers.http import tokens_of
from app.domain.cost import Units
from app.domain.errors import ProviderError
from app.domain.prompts import visible
from app.services.provider_calls import ProviderCalls

if TYPE_CHECKING:
    from cohere import V2RerankResponse

_TEXTS_PER_SEARCH = 100
"""Maximum documents billed as one search (https://cohere.com/pricing)."""


@dataclass(frozen=True, slots=True)
class CohereReranker:
    """Implements the `Reranker` port."""

    client: CohereClient
    calls: ProviderCalls
    count_tokens: Callable[[str], int]
    model: str
    seconds: float = 3.0
    """Time limit, retries included; after it the order of the search is kept."""
    reads_paragraphs = False

    @property
    def calibrated(self) -> bool:
        """True from version 5 on, by Cohere's documentation."""
        return self._version >= 5

    def reads(self, asked_in: str, language: str) -> bool:  # noqa: ARG002 - reads any language
        return True

    @property
    def _version(self) -> int:
        found = re.search(r"-v(\d+)", self.model)
        return int(found[1]) if found else 0

    async def rerank(self, question: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        """Return (position in `texts`, relevance 0 to 1) of each, by descending relevance.

        The model reads only the first 4,096 tokens of a text, from version 4 on 32,768.
        """
        if not texts:
            return []

        async def send() -> list[tuple[int, float]]:
            with self.client.errors("rerank"):
                response = await self.client.sdk.rerank(
                    model=self.model,
                    query=visible(question),
                    documents=list(texts),
                    request_options=NO_RETRIES,
                )
                call.bill(_billed(response, estimate))
                return _ranking(response, len(texts))

        estimate = self._units(question, texts)
        async with self.calls.call(estimate, self.seconds) as call:
            return await call.run(send)

    def _units(self, question: str, texts: Sequence[str]) -> Units:
        """Estimate what is billed: tokens from version 5 on, searches before."""
        if self._version < 5:
            return Units(searches=ceil(len(texts) / _TEXTS_PER_SEARCH))
        pairs = len(texts) * self.count_tokens(question)
        return Units(input_tokens=pairs + sum(map(self.count_tokens, texts)))


def _billed(response: V2RerankResponse, estimate: Units) -> Units:
    """Return the billed units; the estimate if the response does not name this kind of unit."""
    units = getattr(getattr(response, "meta", None), "billed_units", None)
    if estimate.searches:
        searches = tokens_of(getattr(units, "search_units", None))
        return Units(searches=searches) if searches else estimate
    tokens = tokens_of(getattr(units, "input_tokens", None))
    return Units(input_tokens=tokens) if tokens else estimate


def _ranking(response: V2RerankResponse, count: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for result in getattr(response, "results", None) or ():
        index, score = result.index, result.relevance_score
        # The SDK does not check types: a missing score is None.
        sound = isinstance(score, float | int) and 0.0 <= score <= 1.0
        if index not in range(count) or index in scores or not sound:
            message = "Cohere could not rerank: its ranking is invalid"
            raise ProviderError(message)
        scores[index] = score
    if not scores:
        message = "Cohere could not rerank: an empty ranking"
        raise ProviderError(message)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
