"""A tiny token model whose vectors say what stands beside each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from app.adapters.minilm_embedder import DIMENSION, WINDOW, MiniLmEmbedder

RESERVED = ("[CLS]", "[SEP]", "[UNK]")


def word_tokenizer(words: Sequence[str]) -> Tokenizer:
    """The n-th word has the id n + 3."""
    vocabulary = {word: number for number, word in enumerate((*RESERVED, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


class NextToken:
    """A token's vector has 1 at its own id and `beside` at the next token's of its window."""

    def __init__(self, beside: float = 0.0) -> None:
        self.beside = beside
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        self.shapes.append(ids.shape)
        assert (ids[:, 0] == 0).all()
        assert (mask.sum(axis=1) <= WINDOW).all()
        vectors = np.zeros((*ids.shape, DIMENSION), dtype=np.float32)
        for row, column in np.ndindex(*ids.shape):
            vectors[row, column, ids[row, column] % DIMENSION] += 1.0
            following = ids[row, (column + 1) % ids.shape[1]]
            vectors[row, column, following % DIMENSION] += self.beside
        return vectors


def tiny_embedder(words: Sequence[str], beside: float = 0.5) -> MiniLmEmbedder:
    return MiniLmEmbedder(word_tokenizer(words), NextToken(beside))
