"""An index of late chunks: vectors made within documents, kept, and asked by the same model."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.bootstrap.ingesting import chunk_book
from app.domain.chunking.config import StrategyName
from app.domain.retrieval.query import Vector
from app.services.similarity import embed_documents
from tests.command_line import Run, write_files
from tests.ingesting import WORDS, Bench, edit, make_book, open_bench
from tests.tiny_models import EMBEDDER, write_embedder


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps", pages=3)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a token model of the book's words."""
    write_embedder(tmp_path / "models", WORDS)
    return tmp_path / "models"


@pytest.fixture
def documents() -> list[Sequence[str]]:
    """What the model was given."""
    return []


@pytest.fixture
async def late(home: Path, models: Path, documents: list[Sequence[str]]) -> AsyncIterator[Bench]:
    embedder = FastembedEmbedder.load(EMBEDDER, models)
    within = embedder.embed_in_context
    assert within

    async def embed(texts: Sequence[str]) -> list[Vector]:
        documents.append(texts)
        return await within(texts)

    async with open_bench(home) as bench:
        embedder.embed_in_context = embed
        bench.use_case = replace(bench.use_case, chunk_book=chunk_book, embedder=embedder)
        yield bench


async def test_vectors_are_those_of_the_chunks_within_their_document(
    late: Bench, book: Path, documents: list[Sequence[str]]
) -> None:
    report = await late.ingest(book, strategy=StrategyName.LATE)
    assert report.embedded == report.chunks > len(documents) == 3
    embedder = late.use_case.embedder
    assert embedder.embed_in_context
    (manifest,) = (await late.app.index.books()).named()
    assert (manifest.model, manifest.dimension) == (embedder.space, embedder.dimension)
    stored = {(p.chunk.file, p.chunk.chunk_index): p for p in await late.points()}
    file = min(stored)[0]
    texts = [p.chunk.text_content for (name, _), p in sorted(stored.items()) if name == file]
    assert [*documents[0]] == ["Page 0", *texts]
    _, *within = await embedder.embed_in_context(["Page 0", *texts])
    alone = await embed_documents(embedder, texts)
    for place, vector in enumerate(within):
        assert list(stored[file, place].dense) == pytest.approx(list(vector), abs=1e-6)
    assert within[0] != alone[0]


async def test_only_the_document_that_changed_is_embedded_again(
    late: Bench, book: Path, documents: list[Sequence[str]]
) -> None:
    await late.ingest(book, strategy=StrategyName.LATE)
    documents.clear()
    again = await late.ingest(book, strategy=StrategyName.LATE)
    assert (again.unchanged, again.embedded, documents) == (True, 0, [])
    edit(book / "page1.md", "Page1 part1", "Newer words")
    changed = await late.ingest(book, strategy=StrategyName.LATE)
    (document,) = documents
    # The chunk before the edit has the same text, but other text after it.
    assert changed.embedded == len(document) - 1 > changed.added + changed.changed
    assert changed.tokens > 0


@pytest.mark.parametrize("strategy", ["", 'strategy = "late"'])
def test_an_embedder_without_tokens_is_one_line_that_says_which_to_set(
    run: Run, book: Path, strategy: str
) -> None:
    (book / "rag.toml").write_text(strategy)
    option = [] if strategy else ["--strategy", "late"]
    line = run("ingest", book, *option, RAG_EMBEDDER="local").refusal()
    assert "'late' needs an embedder with a vector for each token" in line
    assert "RAG_EMBEDDER=fastembed:sentence-transformers/all-MiniLM-L6-v2" in line
    assert run("books").out == "" or "lamps" not in run("books").out


@pytest.fixture
def own(run: Run, models: Path) -> Run:
    """The command line with the token model."""
    return partial(run, RAG_EMBEDDER=f"fastembed:{EMBEDDER}", RAG_MODELS=str(models))


def test_a_book_is_asked_with_the_model_of_its_ingest(run: Run, own: Run, tmp_path: Path) -> None:
    book = make_book(tmp_path / "lamps", pages=1)
    report = own("ingest", book, "--strategy", "late", "--json").json()
    assert report["embedded"] == report["chunks"] > 1
    assert own("ingest", book, "--strategy", "late", "--json").json()["embedded"] == 0
    found = own("search", "lantern reef", "--json").json()
    assert len(found["hits"]) == report["chunks"]
    other = run("search", "lantern reef", RAG_EMBEDDER="local").refusal()
    assert f"fastembed:{EMBEDDER} (384 dimensions)" in other
    assert "RAG_EMBEDDER" in other


def test_chunks_are_printed_as_the_model_gets_them(run: Run, own: Run, tmp_path: Path) -> None:
    """Sizes in a script of many tokens are scaled, but not beyond what the model reads."""
    text = "किताब को टुकड़ों में बाँटा जाता है ताकि खोज सही जगह ढूँढ सके।"
    paragraphs = "\n\n".join(f"{text} {number}" for number in range(60))
    book = write_files(tmp_path / "book", {"page.md": f"# X\n\n{paragraphs}\n"})
    printed = own("chunks", book).lines()
    report = own("ingest", book, "--json").json()
    scaled = run("chunks", book, RAG_EMBEDDER="local").lines()
    assert len(printed) == report["chunks"] > len(scaled)
