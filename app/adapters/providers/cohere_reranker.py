"""Relevance by Cohere's rerank models."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from app.adapters.providers.cohere_client import NO_RETRIES, CohereClient, billed_by
from app.domain.cost import Units
from app.domain.errors import ProviderError
from app.domain.prompts import visible
from app.services.provider_calls import ProviderCalls

if TYPE_CHECKING:
    from cohere import V2RerankResponse

_TEXTS_PER_SEARCH = 100
"""Maximum documents billed as one search (https://cohere.com/pricing)."""
_SECONDS = 3.0
"""Time limit, retries included; after it the order of the search is kept."""


@dataclass(frozen=True, slots=True)
class CohereReranker:
    """Implements the `Reranker` port."""

    client: CohereClient
    calls: ProviderCalls
    count_tokens: Callable[[str], int]
    reads_paragraphs = False

    @property
    def calibrated(self) -> bool:
        """Whether the model has version 5 or later, by Cohere's documentation.

        Then tokens are billed, and searches before.
        """
        version = re.search(r"-v(\d+)", self.calls.model)
        return version is not None and int(version[1]) >= 5

    def reads(self, asked_in: str, language: str) -> bool:  # noqa: ARG002 - reads any language
        return True

    async def rerank(self, question: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        """Return (position in `texts`, relevance 0 to 1) of each, by descending relevance.

        The model reads only the first 4,096 tokens of a text, from version 4 on 32,768.
        """
        if not texts:
            return []
        estimate = self._estimate(question, texts)
        async with self.calls.call(estimate, _SECONDS) as call:

            async def send() -> list[tuple[int, float]]:
                with self.client.provider.errors("rerank"):
                    response = await self.client.sdk.rerank(
                        model=self.calls.model,
                        query=visible(question),
                        documents=list(texts),
                        request_options=NO_RETRIES,
                    )
                    call.bill(self._billed(response) or estimate)
                    return _ranking(response, len(texts))

            return await call.run(send)

    def _estimate(self, question: str, texts: Sequence[str]) -> Units:
        if not self.calibrated:
            return Units(searches=ceil(len(texts) / _TEXTS_PER_SEARCH))
        pairs = len(texts) * self.count_tokens(question)
        return Units(input_tokens=pairs + sum(map(self.count_tokens, texts)))

    def _billed(self, response: V2RerankResponse) -> Units | None:
        """Return the billed units; None if the response does not name them."""
        if self.calibrated:
            tokens = billed_by(response, "input_tokens")
            return Units(input_tokens=tokens) if tokens else None
        searches = billed_by(response, "search_units")
        return Units(searches=searches) if searches else None


def _ranking(response: V2RerankResponse, count: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for result in response.results:
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
