"""Local neural models: the real loading code, on tiny models made here."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.adapters.fastembed.models import download, kinds, load
from app.adapters.fastembed.reranker import FastembedReranker
from app.adapters.local_embedder import inner_products
from app.domain.errors import ConfigError
from app.domain.retrieval.query import Vector
from app.services.similarity import CrossLingualScorer, embed_documents
from tests.tiny_models import DIMENSION, EMBEDDER, RERANKER, write_embedder, write_reranker

WORDS = [*"query passage owl mouse vole night prey".split(), *(f"w{n}" for n in range(300))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("models")
    write_embedder(found, WORDS)
    write_reranker(found, WORDS)
    return found


@pytest.fixture(scope="module")
def embedder(folder: Path) -> FastembedEmbedder:
    return FastembedEmbedder.load(EMBEDDER, folder)


@pytest.fixture
def reranker(folder: Path) -> FastembedReranker:
    return FastembedReranker.load(RERANKER, folder)


async def in_context(embedder: FastembedEmbedder, *texts: str) -> list[Vector]:
    assert embedder.embed_in_context
    return await embedder.embed_in_context(texts)


def words_of(vector: Sequence[float], least: float) -> set[str]:
    return {word for word, value in zip(WORDS, vector, strict=False) if value >= least}


async def test_a_text_alone_has_a_vector_of_length_1(embedder: FastembedEmbedder) -> None:
    owl, *_, again = await embed_documents(embedder, ["owl", *["mouse vole"] * 20, "owl"])
    assert owl == again == await embedder.embed_query("owl")
    assert len(owl) == embedder.dimension == DIMENSION
    assert np.linalg.norm(owl) == pytest.approx(1.0, abs=1e-6)
    assert words_of(owl, 0.9) == {"owl"}
    assert embedder.space == f"fastembed:{EMBEDDER}"
    assert embedder.tariff.tokens_per_text == 64


async def test_a_long_text_is_pooled_to_its_end(embedder: FastembedEmbedder) -> None:
    (vector,) = await in_context(embedder, " ".join(WORDS[5:]))
    assert words_of(vector, 0.01) == set(WORDS[5:])


async def test_a_multilingual_model_compares_questions_with_paragraphs_of_another_language(
    folder: Path,
) -> None:
    """E5 expects to be told which of the two a text is."""
    model = load(kinds()[0], EMBEDDER, folder)
    embedder = FastembedEmbedder(model, "intfloat/multilingual-e5-large")
    assert "query" in words_of(await embedder.embed_query("owl"), 0.4)
    (passage,) = await embed_documents(embedder, ["owl"])
    assert "passage" in words_of(passage, 0.4)
    assert embedder.multilingual
    scorer = CrossLingualScorer(embedder, inner_products)
    assert (scorer.reads("es", "en"), scorer.reads("en", "en")) == (True, False)
    same, headed, other = await scorer.scores("owl", ["owl", "owl\nvole", "vole"])
    assert 1 >= same > headed > other == 0


async def test_paragraphs_are_read_together_with_the_question(reranker: FastembedReranker) -> None:
    texts = ["vole", "the owl hunts at night", "night", ""]
    scores = await reranker.scores("owl night", texts)
    assert scores == pytest.approx([0.269, 0.731, 0.5, 0.269], abs=1e-3)


async def test_what_is_not_read_in_time_is_left_out_and_read_paragraphs_are_known(
    folder: Path,
) -> None:
    slow = FastembedReranker.load(RERANKER, folder)
    await slow.scores("owl", ["owl"])
    slow._seconds = 0.0
    assert await slow.scores("owl", ["vole", "owl"]) == [None, 0.5]


def test_an_english_model_reads_english_questions_about_english_books(folder: Path) -> None:
    reranker = FastembedReranker.load(RERANKER, folder)
    languages = [("en", "en"), ("es", "en"), ("es", "es")]
    assert [reranker.reads(*one) for one in languages] == [True, False, False]


def test_the_error_names_what_is_missing_and_what_there_is(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"not supported"):
        FastembedReranker.load("Xenova/ms-marco-MiniLM", folder)
    with pytest.raises(ConfigError, match=r"scripts/setup local"):
        FastembedEmbedder.load("BAAI/bge-small-en-v1.5", folder)
    (tmp_path / RERANKER / "onnx").mkdir(parents=True)
    (tmp_path / RERANKER / "onnx/model.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match=r"cannot be loaded from"):
        FastembedReranker.load(RERANKER, tmp_path)


def test_a_download_says_its_size_and_leaves_a_copied_model_alone(folder: Path) -> None:
    said: list[str] = []
    download(RERANKER, folder, said.append)
    assert said == [f"{RERANKER}, 80 MB, in {folder}"]
    with pytest.raises(ConfigError, match=r"no model owl; it has .*ms-marco"):
        download("owl", folder, said.append)
