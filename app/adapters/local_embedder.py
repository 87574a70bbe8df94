"""The default embedder: static token vectors from the `wordllama` wheel, without a download.

A text's vector is the mean of its tokens' vectors, scaled to length 1. The wheel's files are read
by path; the package itself is not imported, since its import configures the root logger and its
loader looks for the tokenizer in a folder that the wheel does not have.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
from array import array
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from app.domain.cost import Tariff
from app.domain.errors import ConfigError
from app.domain.retrieval.query import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL = "wordllama-l2-supercat-256"
DIMENSION = 256
_VOCABULARY = 32_000
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
# Hash of both files, in this order, in wordllama 0.2.2.post0. Other weights give another vector
# space: their vectors must not be compared with an index made with these.
_SHA256 = "802fcfe3d21d4d1d50d5bd1c078fdc45d2c9db0742a6359d0ad73446e3784a39"
_BATCH = 2_048
_FEW = 64
"""Texts that are embedded in less time than a thread takes to start."""
_MANY = 1_000
"""From so many texts on, the model is converted as a whole (20 ms), not text by text (0.2 ms)."""


class LocalEmbedder:
    """Implements the `Embedder` port; some 5,000 short texts a second on one core."""

    space = MODEL
    dimension = DIMENSION
    tariff = Tariff(texts_per_call=_BATCH)
    multilingual, embed_in_context = False, None

    def __init__(self, token_vectors: NDArray[np.float16], tokenizer: Tokenizer) -> None:
        """`token_vectors` has the shape (vocabulary size, 256)."""
        self._token_vectors = token_vectors
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> LocalEmbedder:
        """Read the model from the installed wheel (about 0.3 s). ConfigError if that fails."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - only the process that embeds pays

        package = importlib.util.find_spec("wordllama")
        folder = Path((package and package.origin) or "").parent
        try:
            weights = (folder / _WEIGHTS).read_bytes()
            tokenizer = (folder / _TOKENIZER).read_bytes()
        except OSError:
            weights = tokenizer = b""
        if hashlib.sha256(weights + tokenizer).hexdigest() != _SHA256:
            missing = f"the local model {MODEL} is missing, or there is another version of it"
            raise ConfigError(f"{missing}: pip install wordllama==0.2.2.post0")
        # The file is a header and one array, as its hash says. It stays on disk: 16 MB less memory
        # than read, and 32 MB less than converted.
        shape = (_VOCABULARY, DIMENSION)
        header = len(weights) - 2 * _VOCABULARY * DIMENSION
        vectors = np.memmap(folder / _WEIGHTS, np.float16, "r", header, shape)
        return cls(vectors, Tokenizer.from_buffer(tokenizer))

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        for start in range(0, len(texts), _BATCH):
            some = texts[start : start + _BATCH]
            few = len(some) <= _FEW
            yield self._embed(some) if few else await asyncio.to_thread(self._embed, some)

    async def embed_query(self, text: str) -> Vector:
        # Not in a thread: embedding a question takes less time than starting a thread.
        return self._embed([text])[0]

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        tokens = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        known = self._token_vectors
        if len(texts) >= _MANY:
            known = known.astype(np.float32)
        return [_mean(known.take(one.ids, axis=0).astype(np.float32, copy=False)) for one in tokens]


def _mean(vectors: NDArray[np.float32]) -> Vector:
    """Mean of the tokens' vectors, length 1; zeros if there are no tokens."""
    if not len(vectors):
        return array("f", bytes(4 * DIMENSION))
    mean = np.add.reduce(vectors) / np.float32(len(vectors))
    length = float(np.sqrt(mean.dot(mean))) or 1.0
    return array("f", (mean / np.float32(length)).tobytes())


def inner_products(vector: Vector, others: Sequence[Vector]) -> list[float]:
    """Return the inner product of `vector` with each of `others`, computed in float64.

    50 vectors of 256 dimensions take 0.03 ms, a twentieth of the time of a Python loop.
    """
    if not others:
        return []
    rows = np.frombuffer(b"".join(others), np.float32).reshape(len(others), len(vector))
    products: list[float] = (rows.astype(np.float64) @ np.frombuffer(vector, np.float32)).tolist()
    return products
