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
_RERANK_SECONDS = 3.0
"""Time limit to rerank, retries included; after it the order of the search is kept."""


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

    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return the relevance of each text.

        The model reads only the first 4,096 tokens of a text, from version 4 on 32,768.
        """
        amount = self._amount(question, texts)
        async with self.calls.call(self._units(amount), _RERANK_SECONDS) as call:

            async def send() -> Sequence[float | None]:
                with self.client.provider.errors("rerank"):
                    response = await self.client.sdk.rerank(
                        model=self.calls.model,
                        query=visible(question),
                        documents=list(texts),
                        request_options=NO_RETRIES,
                    )
                    unit = "input_tokens" if self.calibrated else "search_units"
                    call.bill(self._units(billed_by(response, unit) or amount))
                    return _scores(response, len(texts))

            return await call.run(send)

    def _amount(self, question: str, texts: Sequence[str]) -> int:
        """Estimate what will be billed."""
        if not self.calibrated:
            return ceil(len(texts) / _TEXTS_PER_SEARCH)
        return len(texts) * self.count_tokens(question) + sum(map(self.count_tokens, texts))

    def _units(self, amount: int) -> Units:
        return Units(input_tokens=amount) if self.calibrated else Units(searches=amount)


def _scores(response: V2RerankResponse, count: int) -> Sequence[float | None]:
    # The SDK does not check types: a missing score is None.
    scores = {one.index: one.relevance_score for one in response.results}
    sound = all(at in range(count) and 0.0 <= score <= 1.0 for at, score in scores.items())
    if not (scores and sound):
        raise ProviderError("Cohere could not rerank: its ranking is invalid")
    return [scores.get(at) for at in range(count)]
