"""An index of late chunks: vectors made within documents, kept, and asked by the same model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.bootstrap.ingesting import chunk_book
from app.domain.chunking.config import StrategyName
from app.domain.retrieval.query import Vector
from app.services.ingest import IngestReport
from app.services.similarity import embed_documents
from tests.command_line import Run
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


@dataclass
class LateBench:
    bench: Bench
    embedder: FastembedEmbedder
    documents: list[tuple[str, ...]] = field(default_factory=list)
    """What the model was given."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        assert self.embedder.embed_in_context
        self.documents.append(tuple(texts))
        return await self.embedder.embed_in_context(texts)

    async def ingest(self, book: Path) -> IngestReport:
        return await self.bench.ingest(book, strategy=StrategyName.LATE)


@pytest.fixture
async def late(home: Path, models: Path) -> AsyncIterator[LateBench]:
    embedder = FastembedEmbedder.load(EMBEDDER, models)
    async with open_bench(home) as bench:
        late = LateBench(bench, embedder)
        bench.use_case = replace(
            bench.use_case,
            chunk_book=chunk_book,
            embedder=embedder,
            embed_in_context=late.embed,
        )
        yield late


async def test_vectors_are_those_of_the_chunks_within_their_document(
    late: LateBench, book: Path
) -> None:
    report = await late.ingest(book)
    assert report.embedded == report.chunks > len(late.documents) == 3
    (manifest,) = (await late.bench.app.index.books()).named()
    assert (manifest.model, manifest.dimension) == (late.embedder.space, late.embedder.dimension)
    stored = {(p.chunk.file, p.chunk.chunk_index): p for p in await late.bench.points()}
    file = min(stored)[0]
    texts = [p.chunk.text_content for (name, _), p in sorted(stored.items()) if name == file]
    assert late.documents[0] == ("Page 0", *texts)
    _, *within = await late.embed(["Page 0", *texts])
    alone = await embed_documents(late.embedder, texts)
    for place, vector in enumerate(within):
        assert list(stored[file, place].dense) == pytest.approx(list(vector), abs=1e-6)
    assert within[0] != alone[0]


async def test_only_the_document_that_changed_is_embedded_again(
    late: LateBench, book: Path
) -> None:
    first = await late.ingest(book)
    late.documents.clear()
    again = await late.ingest(book)
    assert (again.unchanged, again.embedded, late.documents) == (True, 0, [])
    edit(book / "page1.md", "Page1 part1", "Newer words")
    changed = await late.ingest(book)
    (document,) = late.documents
    # The chunk before the edit has the same text, but other text after it.
    assert changed.embedded == len(document) - 1 > changed.added + changed.changed
    assert changed.reused == first.chunks - changed.embedded
    assert changed.tokens > 0


@pytest.mark.parametrize("strategy", ["command line", "rag.toml"])
def test_an_embedder_without_tokens_is_one_line_that_says_which_to_set(
    run: Run, book: Path, strategy: str
) -> None:
    if strategy == "rag.toml":
        (book / "rag.toml").write_text('strategy = "late"\n')
    option = ["--strategy", "late"] if strategy == "command line" else []
    result = run("ingest", book, *option, RAG_EMBEDDER="local")
    assert result.code == 2
    line = result.err.splitlines()[-1]
    assert "'late' needs an embedder with a vector for each token" in line
    assert "RAG_EMBEDDER=fastembed:sentence-transformers/all-MiniLM-L6-v2" in line
    assert run("books").out == "" or "lamps" not in run("books").out


def test_a_book_is_asked_with_the_model_it_was_embedded_with(
    run: Run, tmp_path: Path, models: Path
) -> None:
    book = make_book(tmp_path / "lamps", pages=1)
    own = {"RAG_EMBEDDER": f"fastembed:{EMBEDDER}", "RAG_MODELS": str(models)}
    report = run("ingest", book, "--strategy", "late", "--json", **own).json()
    assert report["embedded"] == report["chunks"] > 1
    assert run("ingest", book, "--strategy", "late", "--json", **own).json()["embedded"] == 0
    found = run("search", "lantern reef", "--json", **own).json()
    assert len(found["hits"]) == report["chunks"]
    other = run("search", "lantern reef", RAG_EMBEDDER="local")
    assert other.code == 2
    assert f"fastembed:{EMBEDDER} (384 dimensions)" in other.err
    assert "RAG_EMBEDDER" in other.err


def test_chunks_are_printed_as_the_model_gets_them(run: Run, tmp_path: Path, models: Path) -> None:
    """Sizes in a script of many tokens are scaled, but not beyond what the model reads."""
    (tmp_path / "book").mkdir()
    text = "किताब को टुकड़ों में बाँटा जाता है ताकि खोज सही जगह ढूँढ सके।"
    paragraphs = "\n\n".join(f"{text} {number}" for number in range(60))
    (tmp_path / "book" / "page.md").write_text(f"# X\n\n{paragraphs}\n")
    own = {"RAG_EMBEDDER": f"fastembed:{EMBEDDER}", "RAG_MODELS": str(models)}
    printed = run("chunks", tmp_path / "book", **own).lines()
    report = run("ingest", tmp_path / "book", "--json", **own).json()
    scaled = run("chunks", tmp_path / "book", RAG_EMBEDDER="local").lines()
    assert len(printed) == report["chunks"] > len(scaled)
