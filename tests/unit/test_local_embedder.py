"""The static local model: the package's own vectors, and the similarity of texts by them."""

import asyncio
import logging
import subprocess
import sys
from importlib.machinery import ModuleSpec
from operator import mul
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from app.adapters import local_embedder
from app.adapters.local_embedder import LocalEmbedder, inner_products
from app.domain.errors import ConfigError
from app.services.similarity import UNKNOWN_LANGUAGE_LENGTH, SimilarityEncoder, embed_documents

TEXTS = [
    "What is photosynthesis?",
    "An inverted index maps each term to the documents that hold it.",
    "\u5149\u5408\u4f5c\u7528 \U0001f331 na\u00efve",
    "word " * 600,
    "x",
    "two  blanks, a tab\tand a line\nend ",
    " before and behind  ",
    "\n\n",
    "中文 字 ﾃｽﾄ 👍🏽",
    "the tokenizer's own blank: a\u2581b \u2581 c",
    "special tokens: <s> x</s> <unk>",
    " ".join(["long" * 20, "long" * 20]),
]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder.load()


async def test_vectors_are_those_of_the_package_itself(embedder: LocalEmbedder) -> None:
    root_handlers = list(logging.root.handlers)
    import wordllama  # noqa: PLC0415 - it configures logging
    from wordllama.config import Config  # noqa: PLC0415
    from wordllama.inference import WordLlamaInference  # noqa: PLC0415

    logging.root.handlers[:] = root_handlers
    folder = Path(wordllama.__file__).parent
    package = WordLlamaInference(
        load_file(folder / local_embedder._WEIGHTS)["embedding.weight"],
        Config._configurations["l2_supercat"],
        Tokenizer.from_file(str(folder / local_embedder._TOKENIZER)),
    )
    ours = await embed_documents(embedder, TEXTS)
    assert np.allclose(np.array(ours), package.embed(TEXTS, norm=True), atol=1e-6)


async def test_a_text_has_the_same_bytes_alone_in_batches_and_as_a_question(
    embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_embedder, "_BATCH", 2)
    together = await embed_documents(embedder, TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert (vector.typecode, len(vector)) == ("f", embedder.dimension)
        assert (await embed_documents(embedder, [text]))[0].tobytes() == vector.tobytes()
        assert (await embedder.embed_query(text)).tobytes() == vector.tobytes()


async def test_a_text_without_a_token_has_the_zero_vector(embedder: LocalEmbedder) -> None:
    (vector,) = await embed_documents(embedder, [""])
    assert vector.tolist() == [0.0] * 256


@pytest.mark.parametrize("found", ["no package", "no files", "other weights"])
def test_a_model_that_is_not_the_known_one_says_what_to_install(
    found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other weights would be another vector space under the same name."""
    package = ModuleSpec("wordllama", None, origin=str(tmp_path / "__init__.py"))
    spec = None if found == "no package" else package
    if found == "other weights":
        for name in (local_embedder._WEIGHTS, local_embedder._TOKENIZER):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_bytes(b"{}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    with pytest.raises(ConfigError, match=r"supercat-256 is missing.*: pip install wordllama=="):
        LocalEmbedder.load()


def test_loading_imports_neither_the_package_nor_its_logging() -> None:
    code = (
        "import sys, logging; from app.adapters.local_embedder import LocalEmbedder;"
        "LocalEmbedder.load(); sys.exit('wordllama' in sys.modules or bool(logging.root.handlers))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


QUESTION = "¿Qué es la fotosíntesis y cómo la hacen las plantas?"
TOLD = "Con la fotosíntesis las plantas hacen azúcar de la luz que les llega."
FOREIGN = "El equipo que ganó la final de la liga es el que más puntos ha hecho en el año."


def similarity(question: str, text: str, language: str) -> float:
    async def measured() -> float:
        vectors = SimilarityEncoder(LocalEmbedder.load(), inner_products)
        asked = await vectors.question(question, language)
        (told,) = await vectors.texts([text], language)
        return float(sum(map(mul, asked, told)))

    return asyncio.run(measured())


def test_what_is_in_one_language_is_not_alike_for_that() -> None:
    foreign, told = (similarity(QUESTION, text, "es") for text in (FOREIGN, TOLD))
    foreign_before, told_before = (similarity(QUESTION, text, "en") for text in (FOREIGN, TOLD))
    assert foreign < foreign_before / 2
    assert told - foreign > told_before - foreign_before + 0.15


def test_in_a_language_that_is_not_known_likeness_counts_less() -> None:
    whole = similarity(QUESTION, TOLD, "en")
    assert similarity(QUESTION, TOLD, "xx") == pytest.approx(UNKNOWN_LANGUAGE_LENGTH * whole)
    assert similarity(QUESTION, TOLD, "zh") == whole


def test_a_text_of_function_words_alone_has_a_vector_all_the_same() -> None:
    assert -1.0 <= similarity("¿Qué es eso?", "Es lo que es.", "es") <= 1.0
    assert similarity("", "", "es") == similarity("", "", "es")
