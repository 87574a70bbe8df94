"""Embeddings by Cohere, in batches within its limits."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from array import array
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

from cachetools import LRUCache

from app.adapters.cohere.client import NO_RETRIES
from app.adapters.cohere.errors import TextsRefused, provider_errors
from app.adapters.cohere.limiter import RateLimiter
from app.adapters.cohere.retries import INGEST, READER
from app.domain.cost import EmbedderLimits, Units, pack
from app.domain.errors import ConfigError, ProviderError, ProviderRejected
from app.domain.retrieval.query import Vector
from app.services.provider_calls import Call, ProviderCalls
from app.services.provider_failures import require_vector
from app.services.provider_stream import tokens_of
from app.services.recording import looked_up

if TYPE_CHECKING:
    from cohere import AsyncClientV2, EmbedByTypeResponse

logger = logging.getLogger(__name__)

MAX_TEXTS = 96
"""Maximum texts in one embed call (https://docs.cohere.com/reference/embed)."""

# Our token counts come from another tokenizer than Cohere's. A call's estimate is this factor of
# them, until the billed tokens replace it.
_MARGIN = 1.1
# Batches that share a minute's token limit: small enough that little of the limit stays unused.
_BATCHES_A_MINUTE = 20
_BATCH_TOKENS = 48_000
"""Maximum tokens of a batch, by our count: 96 texts of 500 tokens."""
_PARALLEL = 4
"""Calls of one ingest at the same time."""
ATTEMPT_SECONDS = 30.0
"""Time limit of one attempt to embed a batch; the largest take a few seconds."""
QUESTION_SECONDS = 5.0
"""Time limit to embed a question, retries included; after it the search uses BM25 alone."""
CACHED_QUESTIONS = 1_000
"""Vectors of questions in the cache: about 6 MB at 1,536 dimensions."""
_NAME_CHARACTERS = 60

InputType = Literal["search_document", "search_query"]


@dataclass(frozen=True, slots=True)
class _Model:
    dimension: int = 1_024
    """The one that all models offer but the light ones."""
    selectable: bool = True
    """Whether the dimension is a parameter of the call."""
    max_tokens: int = 128_000
    """Of one text. A longer text is truncated if `truncate` is "END", else refused."""
    truncate: Literal["NONE", "END"] = "NONE"


# A chunk can exceed v3's 512 tokens; a refusal would make the ingest fail. The end of a truncated
# chunk is found only by BM25, and a warning is logged.
_V3 = _Model(selectable=False, max_tokens=512, truncate="END")


def _facts(model: str) -> _Model:
    """Facts about a model by its name."""
    version = re.search(r"-v(\d+)", model)
    if version is None or int(version[1]) > 3:
        return _Model()
    return replace(_V3, dimension=384) if "light" in model else _V3


def dimension_of(model: str) -> int:
    return _facts(model).dimension


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
        client: AsyncClientV2,
        limiter: RateLimiter,
        provider: ProviderCalls,
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
        self._facts = _facts(model)
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
        self.billed_tokens = 0
        """Input tokens that Cohere has billed since this object was created."""
        self._questions: LRUCache[str, Vector] = LRUCache(CACHED_QUESTIONS)
        self._limiter = limiter
        self._providers = {"search_document": provider, "search_query": asking or provider}
        self._count_tokens = count_tokens
        self._question_seconds = question_seconds
        self._attempt_seconds = attempt_seconds
        limits = limiter.limits
        self._batch_texts = _even_share(MAX_TEXTS, limits.inputs_per_minute)
        self._batch_tokens = batch_tokens
        if limits.tokens_per_minute is not None:
            share = int(limits.tokens_per_minute / _MARGIN / _BATCHES_A_MINUTE)
            self._batch_tokens = min(batch_tokens, share)
        self._send = partial(
            client.embed,
            embedding_types=["float"],
            truncate=self._facts.truncate,
            request_options=NO_RETRIES,
        )
        if self._facts.selectable:
            self._send = partial(self._send, output_dimension=dimension)

    @property
    def limits(self) -> EmbedderLimits:
        return EmbedderLimits(
            texts_per_call=self._batch_texts,
            tokens_per_call=self._batch_tokens,
            tokens_per_text=self._facts.max_tokens if self._facts.truncate == "END" else None,
            rates=self._limiter.limits,
        )

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector per text, in order. ProviderRejected names a text that is refused."""
        vectors: dict[int, Vector] = {}
        async for start, batch in self.embed_batches(texts):
            vectors.update(enumerate(batch, start))
        for position, text in enumerate(texts):
            of = f"a text that {_beginning(text)}"
            require_vector(vectors[position], self.space, self.dimension, of)
        return [vectors[position] for position in range(len(texts))]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question. Fails within seconds, since a reader is waiting."""
        known = self._questions.get(text)
        looked_up("question_vectors", hit=known is not None)
        if known is not None:
            return known
        estimate = self._estimate(self._count_tokens(text))
        async with self._providers["search_query"].call(estimate, self._question_seconds) as call:
            send = partial(self._sent, call, [text], "search_query")
            vectors, _ = await READER.run(send)
        (vector,) = vectors
        require_vector(vector, self.space, self.dimension, "a question")
        self._questions[text] = vector
        return vector

    async def embed_batches(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        """Yield (position of the first text, vectors) as calls are answered, in any order.

        After a failure no new call starts. The results of running calls are still yielded before
        the error is raised: they are paid for.
        """
        batches = iter(await asyncio.to_thread(self._batches, texts))
        running: set[asyncio.Task[_Outcome]] = set()
        failure: ProviderError | None = None
        try:
            while True:
                if failure is None:
                    for batch in islice(batches, _PARALLEL - len(running)):
                        running.add(asyncio.create_task(self._embed(batch)))
                if not running:
                    break
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for outcome in sorted((task.result() for task in done), key=_first_position):
                    failure = failure or outcome.failure
                    for start, vectors in outcome.runs:
                        yield start, vectors
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if failure is not None:
            raise failure

    def _batches(self, texts: Sequence[str]) -> list[_Batch]:
        counts = [self._count_tokens(text) for text in texts]
        cut = sum(count > self._facts.max_tokens for count in counts)
        if cut and self._facts.truncate == "END":
            logger.warning(
                "cohere.texts_cut",
                extra={"model": self.model, "texts": cut, "tokens": self._facts.max_tokens},
            )
        spans = pack(counts, self._batch_texts, self._batch_tokens)
        return [_Batch(a, texts[a:b], counts[a:b]) for a, b in spans]

    async def _embed(self, batch: _Batch) -> _Outcome:
        """Embed a batch; while it is refused for its size or content, split it in half."""
        try:
            vectors = await self._embedded(batch)
        except TextsRefused as error:
            if len(batch.texts) == 1:
                return _Outcome((), _naming(batch.texts[0], error))
            first, second = batch.halves()
            left = await self._embed(first)
            if left.failure is not None:
                return left
            right = await self._embed(second)
            return _Outcome((*left.runs, *right.runs), right.failure)
        except ProviderError as error:
            return _Outcome((), error)
        return _Outcome(((batch.start, vectors),), None)

    async def _embedded(self, batch: _Batch) -> list[Vector]:
        estimate = self._estimate(sum(batch.counts))

        async def send() -> list[Vector]:
            slot = await self._limiter.acquire(len(batch.texts), estimate.input_tokens)
            vectors, billed = await self._sent(call, batch.texts, "search_document")
            slot.tokens = billed or slot.tokens
            return vectors

        async with self._providers["search_document"].call(estimate) as call:
            return await INGEST.run(send, self._limiter)

    async def _sent(
        self, call: Call, texts: Sequence[str], input_type: InputType
    ) -> tuple[list[Vector], int | None]:
        """Embed the texts in one attempt; return the vectors and the billed tokens, if known."""
        with provider_errors("embed"):
            async with asyncio.timeout(self._attempt_seconds):
                response = await self._send(
                    model=self._models[input_type], texts=list(texts), input_type=input_type
                )
            billed = _billed_tokens(response)
            if billed is not None:
                call.bill(Units(input_tokens=billed))
                self.billed_tokens += billed
            return self._vectors(response, len(texts)), billed

    def _estimate(self, counted: int) -> Units:
        return Units(input_tokens=math.ceil(counted * _MARGIN))

    def _vectors(self, response: EmbedByTypeResponse, expected: int) -> list[Vector]:
        embeddings = getattr(response, "embeddings", None)
        rows: list[list[float]] = getattr(embeddings, "float_", None) or []
        if len(rows) != expected:
            message = f"Cohere sent {len(rows)} vectors for {expected} texts"
            raise ProviderError(message)
        # A null becomes NaN; the caller checks the vectors and names the text.
        return [array("f", [math.nan if v is None else v for v in row]) for row in rows]


@dataclass(frozen=True, slots=True)
class _Batch:
    start: int
    texts: Sequence[str]
    counts: Sequence[int]

    def halves(self) -> tuple[_Batch, _Batch]:
        middle = len(self.texts) // 2
        return (
            _Batch(self.start, self.texts[:middle], self.counts[:middle]),
            _Batch(self.start + middle, self.texts[middle:], self.counts[middle:]),
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Result of a batch: (position of the first text, vectors) of each part, error of the rest."""

    runs: tuple[tuple[int, list[Vector]], ...]
    failure: ProviderError | None


def _first_position(outcome: _Outcome) -> int:
    return outcome.runs[0][0] if outcome.runs else -1


def _even_share(most: int, per_minute: int | None) -> int:
    """Return the batch size up to `most` with which the fewest inputs of a minute stay unused.

    Of 2,000 inputs a minute, 20 batches of 96 use 1,920, and 21 batches of 95 use 1,995.
    """
    if per_minute is None:
        return most
    return max(1, per_minute // math.ceil(per_minute / most))


def _billed_tokens(response: EmbedByTypeResponse) -> int | None:
    meta = getattr(response, "meta", None)
    units = getattr(meta, "billed_units", None)
    return tokens_of(getattr(units, "input_tokens", None))


def _beginning(text: str) -> str:
    name = " ".join(text.split())
    name = name if len(name) <= _NAME_CHARACTERS else name[:_NAME_CHARACTERS] + "..."
    return f'begins "{name}"'


def _naming(text: str, error: TextsRefused) -> ProviderRejected:
    said = f"{error.said}; the text {_beginning(text)}"
    refused = ProviderRejected(error.reason, status=error.status, said=said)
    refused.__cause__ = error
    return refused
