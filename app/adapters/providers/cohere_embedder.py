"""Embeddings by Cohere, in batches within its limits and those of the key."""

from __future__ import annotations

import asyncio
import math
import re
import time
from array import array
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from cachetools import LRUCache

from app.adapters.providers.cohere_client import NO_RETRIES, CohereClient, billed_by
from app.domain.cost import Tariff, Units
from app.domain.errors import ConfigError, ProviderError
from app.domain.retrieval.query import Vector
from app.services.provider_calls import Call, ProviderCalls

_PER_MINUTE = Tariff(
    texts_per_call=95, tokens_per_call=48_000, calls_per_minute=2_000, texts_per_minute=2_000
)
TARIFFS = {
    "trial": replace(
        _PER_MINUTE, tokens_per_call=4_500, calls_per_minute=100, tokens_per_minute=100_000
    ),
    "production": _PER_MINUTE,
}
"""By the kind of key: https://docs.cohere.com/docs/rate-limits (2026). The trial key's limit of
100,000 tokens is documented only in the error that enforces it: "trial token rate limit exceeded".

A call takes at most 96 texts (https://docs.cohere.com/reference/embed). 21 calls with 95 use more
of 2,000 texts than 20 with 96; 20 calls with 4,500 tokens, of the tokens of a trial key.
"""
# Our token counts come from another tokenizer than Cohere's. A call's estimate is this factor of
# them.
_MARGIN = 1.1
# A minute and 1.5 seconds: calls reach the server with varying delay, so two calls may be closer
# together there than here. The margin costs 2.5 % of the throughput.
_WINDOW = 61.5
ATTEMPT_SECONDS = 30.0
"""Time limit of one attempt to embed a batch; the largest take a few seconds."""
QUESTION_SECONDS = 5.0
"""Time limit to embed a question, retries included; after it the search uses BM25 alone."""
CACHED_QUESTIONS = 1_000
"""Vectors of questions in the cache: about 4 MB."""

InputType = Literal["search_document", "search_query"]


def vector_space(model: str) -> str:
    """Return the name of the model's vector space: from version 5 on, Pro and Fast share one."""
    shared = re.fullmatch(r"(embed-v(?:[5-9]|\d\d).*)-(?:pro|fast)", model)
    return shared[1] if shared else model


class CohereEmbedder:
    """Implements the `Embedder` port.

    Vectors of recent questions are cached, since a class often asks the same ones.
    """

    multilingual, embed_in_context = False, None

    def __init__(
        self,
        client: CohereClient,
        documents: ProviderCalls,
        questions: ProviderCalls,
        limiter: RateLimiter,
        count_tokens: Callable[[str], int],
    ) -> None:
        """`limiter` has the limits of the key.

        ConfigError if the models for documents and questions do not share a vector space.
        """
        self.space, other = vector_space(documents.model), vector_space(questions.model)
        if other != self.space:
            raise ConfigError(
                f"RAG_COHERE_EMBED_MODEL: the vectors of {documents.model} and {questions.model} "
                "are not comparable; give one model, or two of one vector space"
            )
        # Models up to version 3 have one dimension, later ones offer several.
        version = re.search(r"-v(\d+)", self.space)
        fixed = version is not None and int(version[1]) <= 3
        self.dimension = 384 if fixed and "light" in self.space else 1_024
        longest = 512 if fixed else 128_000
        self.tariff = replace(limiter.limits, tokens_per_text=longest, price=documents.price)
        self._documents, self._questions, self._limiter = documents, questions, limiter
        self._count_tokens = count_tokens
        self._known: LRUCache[str, Vector] = LRUCache(CACHED_QUESTIONS)
        self._errors = client.provider.errors
        self._embed = partial(
            client.sdk.embed, embedding_types=["float"], truncate="END", request_options=NO_RETRIES
        )
        if not fixed:
            self._embed = partial(self._embed, output_dimension=self.dimension)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Fails within seconds, since a reader is waiting."""
        if (known := self._known.get(text)) is not None:
            return known
        estimate = self._estimate([self._count_tokens(text)])
        async with self._questions.call(estimate, QUESTION_SECONDS) as call:
            model = self._questions.model
            send = partial(self._vectors, call, [text], model, "search_query")
            (vector,) = await call.run(send)
        self._known[text] = vector
        return vector

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        """Yield the vectors, batch by batch.

        One call at a time: with 95 texts a call, a key allows one every 3 seconds.
        """
        counts = await asyncio.to_thread(lambda: [*map(self._count_tokens, texts)])
        for start, end in self.tariff.batches(counts):
            yield await self._batch(texts[start:end], self._estimate(counts[start:end]))

    async def _batch(self, texts: Sequence[str], estimate: Units) -> list[Vector]:
        model = self._documents.model
        async with self._documents.call(estimate) as call:

            async def send() -> list[Vector]:
                await self._limiter.acquire(len(texts), estimate.input_tokens)
                return await self._vectors(call, texts, model, "search_document")

            return await call.run(send)

    async def _vectors(
        self, call: Call, texts: Sequence[str], model: str, input_type: InputType
    ) -> list[Vector]:
        with self._errors("embed"):
            async with asyncio.timeout(ATTEMPT_SECONDS):
                response = await self._embed(model=model, texts=list(texts), input_type=input_type)
            if (tokens := billed_by(response, "input_tokens")) is not None:
                call.bill(Units(input_tokens=tokens))
            rows = response.embeddings.float_ or []
            if len(rows) != len(texts):
                raise ProviderError(f"Cohere sent {len(rows)} vectors for {len(texts)} texts")
            return [self._vector(row, text) for row, text in zip(rows, texts, strict=True)]

    def _vector(self, row: Sequence[float | None], text: str) -> Vector:
        """ProviderError, which quotes the text, for a vector that cannot be searched with."""
        vector = array("f", [math.nan if value is None else value for value in row])
        if len(vector) != self.dimension:
            fault = f"of {len(vector)} dimensions instead of {self.dimension}"
        elif not (math.isfinite(sum(vector)) and any(vector)):
            fault = "of zeros only, or with values that are not finite"
        else:
            return vector
        message = f"model {self.space} returned a vector {fault}, for a text"
        raise ProviderError(message, said=f'"{text[:80]}"')

    def _estimate(self, counts: Sequence[int]) -> Units:
        return Units(input_tokens=math.ceil(sum(counts) * _MARGIN))


@dataclass(slots=True)
class RateLimiter:
    """A rate limiter with a sliding window, for calls that are made one after the other."""

    limits: Tariff
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _sent: deque[tuple[float, int, int]] = field(default_factory=deque, init=False)
    """Time, texts and tokens of the calls of the last minute."""

    async def acquire(self, texts: int, tokens: int) -> None:
        """Wait until a call with this many texts and tokens may be sent."""
        while not self._fits(texts, tokens):
            await self.sleep(self._sent[0][0] + _WINDOW - self.clock())
        self._sent.append((self.clock(), texts, tokens))

    def _fits(self, texts: int, tokens: int) -> bool:
        """Whether a call fits beside those of the window; earlier ones are forgotten."""
        limits, sent = self.limits, self._sent
        while sent and sent[0][0] + _WINDOW <= self.clock():
            sent.popleft()
        amounts = (
            (len(sent) + 1, limits.calls_per_minute),
            (sum(one[1] for one in sent) + texts, limits.texts_per_minute),
            (sum(one[2] for one in sent) + tokens, limits.tokens_per_minute),
        )
        # In an empty window even a call above the limits is sent: the provider decides.
        return not sent or all(limit is None or amount <= limit for amount, limit in amounts)
