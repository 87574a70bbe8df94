"""Small books to ingest, and the application with an embedder that counts."""

import hashlib
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.bootstrap.application import Application, application
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.cost import Tariff
from app.domain.errors import ProviderUnavailable
from app.domain.indexed_book import IndexPoint
from app.domain.retrieval.query import SearchFilter, Vector
from app.services.ingest import IngestBook
from app.services.ingest_plan import IngestReport, IngestRequest
from app.services.phases import Phases
from app.services.ports import Embedder, EmbedInContext
from app.services.similarity import embed_documents
from tests.command_line import write_files
from tests.index_points import stored
from tests.serving import offline_settings

WORDS = (
    "anchor beam coast dawn engine flame gale harbour island jetty keel lantern mirror night "
    "ocean paraffin quay reef signal tower urchin vessel wave yard zenith"
).split()
BOOK = BookId("lamps")
URL = "https://book"


def prose(seed: str, words: int = 300) -> str:
    """A paragraph of sentences that no other seed gives."""
    source = random.Random(seed)
    sentences = []
    for number in range(words // 13):
        picked = " ".join(source.choice(WORDS) for _ in range(11))
        sentences.append(f"{seed.capitalize()} {picked} {number}.")
    return " ".join(sentences)


def page(name: str, paragraphs: Sequence[str]) -> str:
    return f"# {name.capitalize()}\n\n" + "\n\n".join(paragraphs) + "\n"


def make_book(folder: Path, pages: int = 4) -> Path:
    """Write pages `page0.md`... of a chunk a paragraph, more or less."""
    texts = ([prose(f"page{number} part{part}") for part in (0, 1)] for number in range(pages))
    files = {f"page{at}.md": page(f"page {at}", told) for at, told in enumerate(texts)}
    return write_files(folder, files)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@dataclass
class CountingEmbedder:
    """Passes on to another one in batches of `batch`, and fails after `fails_after` batches."""

    inner: Embedder
    batch: int = 3
    fails_after: int | None = None
    texts: Counter[str] = field(default_factory=Counter)

    @property
    def space(self) -> str:
        return self.inner.space

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def tariff(self) -> Tariff:
        return self.inner.tariff

    @property
    def multilingual(self) -> bool:
        return self.inner.multilingual

    @property
    def embed_in_context(self) -> EmbedInContext | None:
        return self.inner.embed_in_context

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        for number, start in enumerate(range(0, len(texts), self.batch)):
            if number == self.fails_after:
                message = "the service is away"
                raise ProviderUnavailable(message)
            page = texts[start : start + self.batch]
            self.texts.update(page)
            yield await embed_documents(self.inner, page)

    async def embed_query(self, text: str) -> Vector:
        return await self.inner.embed_query(text)


@dataclass
class Bench:
    """An application whose ingest is counted."""

    app: Application
    embedder: CountingEmbedder
    use_case: IngestBook

    async def ingest(self, folder: Path, **options: object) -> IngestReport:
        request = replace(
            IngestRequest(folder, book=BOOK, base_url=URL),
            **options,  # type: ignore[arg-type]
        )
        return await self.use_case.run(request, Phases())

    async def chunks(self) -> list[Chunk]:
        return await self.app.index.matching(SearchFilter(books=(BOOK,)))

    async def points(self, book: BookId = BOOK) -> list[IndexPoint]:
        return await stored(self.app.index, book)


@asynccontextmanager
async def open_bench(home: Path) -> AsyncIterator[Bench]:
    async with application(offline_settings(home)) as app:
        embedder = CountingEmbedder(app.embedder)
        yield Bench(app, embedder, replace(app.ingest, embedder=embedder))


def state_of(home: Path) -> Mapping[str, str]:
    """Every file of the state folder with a hash of its bytes.

    Not the time of its last change: the engine touches some files when it opens them. Not the
    locks: each names the last process that wrote.
    """
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
