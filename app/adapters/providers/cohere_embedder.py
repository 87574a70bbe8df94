"""Embeddings by Cohere, in batches within its limits."""

from __future__ import annotations

import asyncio
import math
import re
from array import array
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from cachetools import LRUCache

from app.adapters.providers.cohere_client import NO_RETRIES, CohereClient
from app.adapters.providers.http import tokens_of
from app.domain.cost import EmbedderLimits, RateLimits, Units, pack
from app.domain.errors import ConfigError, ProviderError
from app.domain.retrieval.query import Vector
from app.services.provider_calls import Call, ProviderCalls
from app.services.provider_failures import require_vector

if TYPE_CHECKING:
    from cohere import EmbedByTypeResponse

Tier: TypeAlias = Literal["trial", "production"]
EMBED_LIMITS: Mapping[Tier, RateLimits] = {
    "trial": RateLimits(100, 2_000, 100_000),
    "production": RateLimits(2_000, 2_000),
}
"""By the kind of key: https://docs.cohere.com/docs/rate-limits (2026). The trial key's limit of
100,000 tokens is documented only in the error that enforces it: "trial token rate limit exceeded".
"""
MAX_TEXTS = 96
"""Maximum texts in one embed call (https://docs.cohere.com/reference/embed)."""

# Our token counts come from another tokenizer than Cohere's. A call's estimate is this factor of
# them, until the billed tokens replace it.
_MARGIN = 1.1
# Batches that share a minute's token limit: small enough that little of the limit stays unused.
_BATCHES_A_MINUTE = 20
_BATCH_TOKENS = 48_000
"""Maximum tokens of a batch, by our count: 96 texts of 500 tokens."""
ATTEMPT_SECONDS = 30.0
"""Time limit of one attempt to embed a batch; the largest take a few seconds."""
QUESTION_SECONDS = 5.0
"""Time limit to embed a question, retries included; after it the search uses BM25 alone."""
CACHED_QUESTIONS = 1_000
"""Vectors of questions in the cache: about 6 MB at 1,536 dimensions."""

InputType = Literal["search_document", "search_query"]


def _fixed_dimension(model: str) -> int | None:
    """Return the dimension of a model up to version 3; later ones offer several."""
    version = re.search(r"-v(\d+)", model)
    if version is None or int(version[1]) > 3:
        return None
    return 384 if "light" in model else 1_024


def dimension_of(model: str) -> int:
    """Return the dimension to use: 1,024, which all models offer but the light ones."""
    return _fixed_dimension(model) or 1_024


def vector_space(model: str) -> str:
    """Return the name of the model's vector space: from version 5 on, Pro and Fast share one."""
    shared = re.fullmatch(r"(embed-v(?:[5-9]|\d\d).*)-(?:pro|fast)", model)
    return shared[1] if shared else model


class CohereEmbedder:
    """Implements the `Embedder` port.

    Vectors of recent questions are cached, since a class often asks the same ones. The constructor
    raises ConfigError if the two models do not share a vector space.
    """

    def __init__(
        self,
        client: CohereClient,
        calls: ProviderCalls,
        count_tokens: Callable[[str], int],
        *,
        model: str,
        dimension: int,
        asking: ProviderCalls | None = None,
        question_model: str = "",
        question_seconds: float = QUESTION_SECONDS,
        attempt_seconds: float = ATTEMPT_SECONDS,
        batch_tokens: int = _BATCH_TOKENS,
    ) -> None:
        """`asking` and `question_model` are those for questions; by default, as for documents."""
        fixed = _fixed_dimension(model)
        self._models = {"search_document": model, "search_query": question_model or model}
        self.space, other = map(vector_space, self._models.values())
        if other != self.space:
            message = (
                f"RAG_COHERE_EMBED_MODEL: the vectors of {model} and {question_model} are not "
                "comparable; give one model, or two of one vector space"
            )
            raise ConfigError(message)
        self.model = model
        self.dimension = dimension
        rates = calls.limiter.limits if calls.limiter else RateLimits()
        most = MAX_TEXTS
        if inputs := rates.inputs_per_minute:
            # 21 batches of 95 use more of 2,000 inputs a minute than 20 batches of 96.
            most = max(1, inputs // math.ceil(inputs / MAX_TEXTS))
        if rates.tokens_per_minute is not None:
            share = int(rates.tokens_per_minute / _MARGIN / _BATCHES_A_MINUTE)
            batch_tokens = min(batch_tokens, share)
        self.limits = EmbedderLimits(most, batch_tokens, 512 if fixed else 128_000, rates)
        self.billed_tokens = 0
        """Input tokens that Cohere has billed since this object was created."""
        self._questions: LRUCache[str, Vector] = LRUCache(CACHED_QUESTIONS)
        self._calls, self._asking = calls, asking or calls
        self._count_tokens = count_tokens
        self._question_seconds = question_seconds
        self._attempt_seconds = attempt_seconds
        self._client = client
        self._send = partial(
            client.sdk.embed, embedding_types=["float"], truncate="END", request_options=NO_RETRIES
        )
        if not fixed:
            self._send = partial(self._send, output_dimension=dimension)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        vectors = [vector async for batch in self.embed_batches(texts) for vector in batch]
        for vector in vectors:
            require_vector(vector, self.space, self.dimension, "a text")
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Fails within seconds, since a reader is waiting."""
        if (known := self._questions.get(text)) is not None:
            return known
        estimate = self._estimate([self._count_tokens(text)])
        async with self._asking.call(estimate, self._question_seconds) as call:
            (vector,) = await call.run(partial(self._attempt, call, [text], "search_query"))
        require_vector(vector, self.space, self.dimension, "a question")
        self._questions[text] = vector
        return vector

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        """Yield the vectors, batch by batch.

        One call at a time: with 95 texts a call, a key allows one every 3 seconds.
        """
        counts = await asyncio.to_thread(lambda: [*map(self._count_tokens, texts)])
        for a, b in pack(counts, self.limits.texts_per_call, self.limits.tokens_per_call):
            yield await self._batch(texts[a:b], counts[a:b])

    async def _batch(self, texts: Sequence[str], counts: Sequence[int]) -> list[Vector]:
        async with self._calls.call(self._estimate(counts), inputs=len(texts)) as call:
            return await call.run(partial(self._attempt, call, texts, "search_document"))

    async def _attempt(
        self, call: Call, texts: Sequence[str], input_type: InputType
    ) -> list[Vector]:
        with self._client.errors("embed"):
            async with asyncio.timeout(self._attempt_seconds):
                response = await self._send(
                    model=self._models[input_type], texts=list(texts), input_type=input_type
                )
            units = getattr(getattr(response, "meta", None), "billed_units", None)
            billed = tokens_of(getattr(units, "input_tokens", None))
            if billed is not None:
                call.bill(Units(input_tokens=billed))
                self.billed_tokens += billed
            return _vectors(response, len(texts))

    def _estimate(self, counts: Sequence[int]) -> Units:
        return Units(input_tokens=math.ceil(sum(counts) * _MARGIN))


def _vectors(response: EmbedByTypeResponse, expected: int) -> list[Vector]:
    embeddings = getattr(response, "embeddings", None)
    rows: list[list[float]] = getattr(embeddings, "float_", None) or []
    if len(rows) != expected:
        message = f"Cohere sent {len(rows)} vectors for {expected} texts"
        raise ProviderError(message)
    # A null becomes NaN; the caller checks the vectors and names the text.
    return [array("f", [math.nan if v is None else v for v in row]) for row in rows]
