"""Ingest is killed at random moments of every phase, while readers ask all the while."""

import asyncio
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from app.adapters.index_terms import IndexTerms
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.tokens import token_counter
from app.bootstrap.books import read_source
from app.bootstrap.ingesting import chunk_book
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.services.ingest_plan import IngestRequest
from tests.attacking import examples
from tests.cohere_double import CohereDouble
from tests.crash_worker import Worker
from tests.index_points import stored
from tests.ingesting import BOOK, URL, edit, make_book
from tests.serving import offline_settings

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")

PHASES = ("read", "chunk", "compare", "embed", "index", "publish")
DIMENSION = 1_024
PAGES = 6
QUERY = SparseVector(tuple(IndexTerms().of_query("page", "en")), (1.0,))


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble(count_tokens=token_counter()) as running:
        yield running


def write_version(folder: Path, version: int) -> frozenset[str]:
    """Write the book with another beginning of every page's last paragraph; return its chunks."""
    make_book(folder, PAGES)
    for number in range(PAGES if version else 0):
        old = f"Page{number} part1"
        edit(folder / f"page{number}.md", old, f"Version{version} {old.lower()}")
    request = IngestRequest(folder, book=BookId(BOOK), base_url=URL)
    return frozenset(one.embedding_text for one in chunk_book(read_source(request), request))


def worker_of(folder: Path, home: Path, double: CohereDouble) -> Worker:
    settings = offline_settings(
        home,
        embedder="cohere",
        cohere_api_key=double.key,
        cohere_base_url=double.url,
        cohere_tier="production",
    ).model_dump(mode="json")
    return Worker(folder, settings | {"cohere_api_key": double.key})


@dataclass
class Reader:
    """Asks for the whole book without a pause; each answer must be one of the `allowed` whole."""

    home: Path
    allowed: set[frozenset[str]]
    answers: int = 0
    wrong: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._ask()))
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    async def _ask(self) -> None:
        index = EdgeIndex(self.home)
        while not self._stop.is_set():
            try:
                answer = await ask(index)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
                self.wrong.append(error)
                return
            self.answers += 1
            await asyncio.sleep(0.02)
            if answer not in self.allowed:
                self.wrong.append(answer)


async def ask(index: EdgeIndex) -> frozenset[str]:
    found = await index.search(None, QUERY, 1_000, SearchFilter(books=(BookId(BOOK),)))
    chunks = await index.fetch({BookId(BOOK): [hit.chunk_id for hit in found.sparse]})
    return frozenset(one.embedding_text for one in chunks)


def cached(home: Path, texts: frozenset[str]) -> frozenset[str]:
    cache, asked = SqliteEmbeddingCache(home / "embeddings.sqlite"), sorted(texts)
    found = asyncio.run(cache.get("embed-v4.0", DIMENSION, asked))
    return frozenset(text for text, one in zip(asked, found, strict=True) if one is not None)


def killed_in(worker: Worker, phase: str, seconds: float) -> str:
    """Kill an ingest so many seconds after the phase began; return the phase that it was in."""
    worker.start()
    at = ""
    for at in worker.said():
        if at == phase:
            time.sleep(seconds)
            break
    worker.process.kill()
    worker.process.join()
    assert worker.process.exitcode in {0, -signal.SIGKILL}
    return [at, *worker.said()][-1]


@pytest.mark.timeout(600)  # two minutes on a busy machine
def test_kills_lose_nothing_and_cost_nothing_twice(
    home: Path, tmp_path: Path, double: CohereDouble
) -> None:
    """A version is tried again until it is published; what was kept of it is not paid again."""
    folder, state, chance = tmp_path / "lamps", home / "state", random.Random(2026)
    kills, worker = examples(12), worker_of(folder, state, double)
    write_version(folder, 0)
    worker.run()
    clean = asyncio.run(stored(EdgeIndex(state), BOOK))
    before = published = write_version(folder, 1)
    seconds = worker.run()
    reader = Reader(state, {published})
    try:
        versions = count(2)
        killed, paid = Counter[str](dict.fromkeys(PHASES, 0)), Counter[str]()
        while killed.total() < kills or not all(killed.values()):
            version = write_version(folder, next(versions))
            # A reader may be half a second behind.
            reader.allowed = {before, published, version}
            for phase in PHASES:
                at = killed_in(worker, phase, chance.uniform(0, seconds[phase]))
                if at in PHASES:
                    killed[at] += 1
                # The machine may be faster or slower than it was.
                seconds[phase] *= 0.8 if at != phase else 1.1
                double.settle()
                now = asyncio.run(ask(EdgeIndex(state)))
                assert now in {published, version}
                assert {text: double.billed[text] for text in paid} == paid
                fresh = cached(state, version) - paid.keys()
                paid += {text: double.billed[text] for text in fresh}
                if now == version:
                    break
            else:
                worker.run()
            before, published = published, version
        final = write_version(folder, 0)
        reader.allowed |= {published, final}
        worker.run()
    finally:
        reader.stop()
    assert reader.wrong == []
    assert reader.answers > kills
    assert {text: double.billed[text] for text in paid} == paid
    assert all(double.billed[point.chunk.embedding_text] == 1 for point in clean)
    assert asyncio.run(stored(EdgeIndex(state), BOOK)) == clean
