"""Vectors of chunks: none that a search could not use is kept."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncGenerator, Sequence

import pytest

from app.domain.errors import ProviderError
from app.domain.retrieval.query import Vector
from app.services.chunk_vectors import embed_keys
from tests.fake_world import DIMENSION, FakeEmbedder, make_chunk

CHUNKS = [make_chunk(text, index=at) for at, text in enumerate(("Owls fly.", "Bats hear."))]


class Faulty(FakeEmbedder):
    """Gives the last text this vector."""

    vector: Vector

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        async for vectors in super().embed_batches(texts):
            yield [*vectors[:-1], self.vector]


@pytest.mark.parametrize(
    ("vector", "fault"),
    [
        ([0.0] * DIMENSION, "a vector of zeros"),
        ([float("nan")] * DIMENSION, "with values that are not finite"),
        ([float("inf"), *[0.0] * (DIMENSION - 1)], "with values that are not finite"),
        ([1.0], f"of 1 dimensions instead of {DIMENSION}"),
    ],
)
def test_a_vector_that_is_none_is_not_kept_and_its_chunk_is_named(
    vector: list[float], fault: str
) -> None:
    embedder = Faulty()
    embedder.vector = array("f", vector)
    kept: list[str] = []

    async def run() -> None:
        keys = [chunk.vector_key for chunk in CHUNKS]
        async for some, vectors in embed_keys(keys, CHUNKS, embedder, None):
            assert len(some) == len(vectors)
            kept.extend(some)

    with pytest.raises(ProviderError, match=fault) as caught:
        asyncio.run(run())
    assert f'a chunk of {CHUNKS[1].file}, "{CHUNKS[1].section}"' in str(caught.value)
    assert kept == [CHUNKS[0].vector_key]
