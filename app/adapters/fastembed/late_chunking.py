"""Late chunking: texts embedded in the context of their document.

Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models",
2024, arXiv:2409.04701. The document goes through the model window by window, and a text's vector is
the mean of its tokens' contextual vectors. Windows overlap; a token's vector comes from the window
whose edge is farther from it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.domain.document import Span
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_GAP = "\n\n"
_LONGEST = 1_024
"""Maximum tokens of a window: attention takes memory by the square of its length."""
_SHARED = 4
"""A window shares a quarter of its tokens with the next one."""


@dataclass(frozen=True, slots=True)
class LateChunking:
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
