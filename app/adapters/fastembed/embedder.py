"""An embedder that fastembed runs: one text at a time, or texts within their document."""

from __future__ import annotations

import asyncio
import re
from array import array
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.adapters.fastembed.models import kinds, load
from app.domain.cost import Tariff
from app.domain.document import Span
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_TEXTS = 16
"""Texts between two reports of progress."""
_MULTILINGUAL = re.compile(r"multilingual|jina-embeddings-v3|embeddinggemma|qwen3", re.IGNORECASE)
_PREFIXES = (
    (re.compile(r"e5"), "query: ", "passage: "),
    (re.compile(r"nomic"), "search_query: ", "search_document: "),
    (re.compile(r"embeddinggemma"), "task: search result | query: ", "title: none | text: "),
    (re.compile(r"arctic|mxbai"), "Represent this sentence for searching relevant passages: ", ""),
)
"""What a model expects before a question and before a text, by its card on Hugging Face."""
_GAP = "\n\n"
_LONGEST = 1_024
"""Maximum tokens of a window: attention takes memory by the square of its length."""
_SHARED = 4
"""A window shares a quarter of its tokens with the next one."""


class FastembedEmbedder:
    """Implements the `Embedder` port; some ten chunks a second on one core."""

    def __init__(self, model: TextEmbedding, name: str) -> None:
        self._model = model
        self.space = f"fastembed:{name}"
        self.dimension = model.embedding_size
        self.multilingual = bool(_MULTILINGUAL.search(name))
        tokenizer = getattr(model.model, "tokenizer", None)
        cut = tokenizer.truncation if tokenizer else None
        self.tariff = Tariff(_TEXTS, tokens_per_text=cut["max_length"] if cut else None)
        self._question, self._text = next(
            ((question, text) for found, question, text in _PREFIXES if found.search(name)),
            ("", ""),
        )
        late = LateChunking.of(model)
        self.embed_in_context = late.embed if late else None

    @classmethod
    def load(cls, name: str, folder: Path) -> FastembedEmbedder:
        """Read the model from the folder of models. ConfigError if that fails."""
        return cls(load(kinds()[0], name, folder), name)

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        for start in range(0, len(texts), _TEXTS):
            some = [f"{self._text}{text}" for text in texts[start : start + _TEXTS]]
            # Each alone: that is as fast, and a vector must not depend on the other texts.
            yield await asyncio.to_thread(_vectors, self._model.passage_embed, some)

    @in_thread
    def embed_query(self, text: str) -> Vector:
        (vector,) = _vectors(self._model.query_embed, [f"{self._question}{text}"])
        return vector


def _vectors(embed: Callable[..., Iterable[NDArray[Any]]], texts: Sequence[str]) -> list[Vector]:
    return [unit_vector(row) for row in embed(texts, batch_size=1)]


@dataclass(frozen=True, slots=True)
class LateChunking:
    """Embeds texts in the context of their document.

    Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding
    Models", 2024, arXiv:2409.04701. The document goes through the model window by window, and a
    text's vector is the mean of its tokens' contextual vectors. Windows overlap; a token's vector
    comes from the window whose edge is farther from it.
    """

    tokenizer: Tokenizer
    """Without truncation and padding."""
    session: InferenceSession
    window: int
    """Tokens of a window, with the two special ones at its ends."""
    dimension: int

    @classmethod
    def of(cls, model: TextEmbedding) -> LateChunking | None:
        """Return None for a model whose vectors are not means of token vectors."""
        from fastembed.text.pooled_embedding import PooledEmbedding  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        inner = model.model
        if not isinstance(inner, PooledEmbedding) or not (inner.tokenizer and inner.model):
            return None
        window = min((inner.tokenizer.truncation or {}).get("max_length", _LONGEST), _LONGEST)
        tokenizer = Tokenizer.from_str(inner.tokenizer.to_str())
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, inner.model, window, model.embedding_size)

    @in_thread
    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed the texts as one document: one vector for each text, zeros without a token."""
        encoding = self.tokenizer.encode(_GAP.join(texts), add_special_tokens=False)
        starts = [start for start, _ in encoding.offsets]
        ends = np.cumsum([len(text) + len(_GAP) for text in texts])
        # For each token, the text in which it begins.
        owners = np.searchsorted(ends, starts, side="right")
        first, last = self.tokenizer.encode("").ids
        totals = np.zeros((len(texts), self.dimension))
        for start, end, (low, high) in windows(len(encoding.ids), self.window):
            vectors = self._token_vectors([first, *encoding.ids[start:end], last])
            np.add.at(totals, owners[low:high], vectors[low - start + 1 : high - start + 1])
        return [unit_vector(row) for row in totals]

    def _token_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        row = np.array([ids])
        inputs = {"input_ids": row, "attention_mask": row * 0 + 1, "token_type_ids": row * 0}
        names = {one.name for one in self.session.get_inputs()}
        given = {name: value for name, value in inputs.items() if name in names}
        vectors: NDArray[np.float32] = self.session.run(None, given)[0][0]
        return vectors


def windows(count: int, size: int) -> Iterator[tuple[int, int, Span]]:
    """Yield (first token, end, span of the tokens whose vectors it supplies) for each window.

    `size` includes the two special tokens of a window.
    """
    shared = size // _SHARED
    start, taken = 0, 0
    while taken < count:
        end = min(start + size - 2, count)
        until = count if end == count else end - shared // 2
        yield start, end, (taken, until)
        start, taken = end - shared, until


def unit_vector(row: NDArray[Any]) -> Vector:
    """Scale a vector to length 1; zeros stay zeros."""
    length = float(np.linalg.norm(row)) or 1.0
    return array("f", (row / length).astype(np.float32).tobytes())
