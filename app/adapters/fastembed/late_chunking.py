"""Late chunking: texts embedded in the context of their document.

Günther et al., "Late Chunking: Contextual Chunk Embeddings Using Long-Context Embedding Models",
2024, arXiv:2409.04701. The document goes through the model window by window, and a text's vector is
the mean of its tokens' contextual vectors. Windows overlap; a token's vector comes from the window
whose edge is farther from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.document import Span

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_GAP = "\n\n"
_LONGEST = 1_024
"""Maximum tokens of a window: attention takes memory by the square of its length."""
_SHARED = 4
"""A window shares a quarter of its tokens with the next one."""

HiddenStates: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Token ids of one window -> vectors (tokens, dimension)."""


@dataclass(frozen=True, slots=True)
class LateChunking:
    tokenizer: Tokenizer
    """Without truncation and padding."""
    hidden_states: HiddenStates
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
        return cls(tokenizer, _hidden_states(inner.model), window, model.embedding_size)

    def pooled(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the sum of each text's token vectors, (texts, dimension)."""
        encoding = self.tokenizer.encode(_GAP.join(texts), add_special_tokens=False)
        ids = np.asarray(encoding.ids, dtype=np.int64)
        starts = np.asarray([start for start, _ in encoding.offsets], dtype=np.int64)
        ends = np.cumsum([len(text) + len(_GAP) for text in texts])
        # For each token, the text in which it begins.
        owners = np.searchsorted(ends, starts, side="right")
        first, last = self.tokenizer.encode("").ids
        totals = np.zeros((len(texts), self.dimension))
        for start, end, (low, high) in windows(len(ids), self.window):
            vectors = self.hidden_states(np.array([first, *ids[start:end], last]))
            np.add.at(totals, owners[low:high], vectors[low - start + 1 : high - start + 1])
        return totals


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


def _hidden_states(session: InferenceSession) -> HiddenStates:
    names = {one.name for one in session.get_inputs()}

    def hidden_states(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        row = ids[np.newaxis]
        inputs = {"input_ids": row, "attention_mask": row * 0 + 1, "token_type_ids": row * 0}
        given = {name: value for name, value in inputs.items() if name in names}
        vectors: NDArray[np.float32] = session.run(None, given)[0][0]
        return vectors

    return hidden_states
