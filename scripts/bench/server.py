"""A Qdrant server with many books: speed, memory, disk.

    python scripts/bench/server.py ../shared/data --url http://127.0.0.1:6333 --prefix big
        --books 1000 --chunks 1000 [--reuse] [--pid PID] [--storage FOLDER]

Writes the synthetic books (`made_up_books.py`) that the server does not have under this prefix,
through the adapter's writer, while no graph is built; then has the graphs built, and measures. An
interrupted run continues where it stopped.
`--reuse` writes nothing. Each scope is measured with 1, 8 and 32 concurrent readers. Scopes: any
one book, so that nearly every question is the first about its book; one of five books that were
asked before; all books:

- `index`: both searches of a question, 50 hits each, by the adapter;
- `search`: `Retrieve.search`, k = 8: the question is embedded, chunks are read, the second stage.

Then memory of the server (`--pid`) and its disk (`--storage`).
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from made_up_books import Sentences, book_name, made_up_book, made_up_manifest
from qdrant_client import AsyncQdrantClient, models
from search import at_once, questions
from serving import Memory, memory_of

from app.adapters.local_embedder import DIMENSION
from app.adapters.qdrant.server_client import server_client
from app.bootstrap.application import Application, application
from app.domain.answering.request import AskRequest
from app.domain.errors import StorageError
from app.domain.evaluation.measurement import percentile
from app.domain.retrieval.query import SearchFilter, SparseVector, Vector
from app.services.ports import BookStore
from app.settings import Settings

READERS = (1, 8, 32)
LIMIT = 50
WRITERS = 3
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    dense: Vector
    sparse: SparseVector


async def write_book(index: BookStore, sentences: Sentences, number: int, chunks: int) -> None:
    """Write and publish one book; retry after a fault: a busy machine drops connections."""
    points = list(made_up_book(sentences, number, chunks))
    for attempt in range(_ATTEMPTS):
        writer = None
        try:
            writer = await index.begin(book_name(number), DIMENSION)
            await writer.write(points)
            await writer.publish(made_up_manifest(number, chunks))
        except StorageError as error:
            print(f"  book {number}, attempt {attempt + 1}: {error}", flush=True)
            if writer:
                await writer.abandon()
            await asyncio.sleep(1)
        else:
            return
    raise SystemExit("the server does not take the books")


async def write_books(
    index: BookStore, sentences: Sentences, numbers: Sequence[int], options: argparse.Namespace
) -> None:
    """Write several books concurrently; print rate, time per book and memory in ten steps."""
    waiting, times, started = iter(numbers), list[float](), time.perf_counter()
    step = max(1, len(numbers) // 10)

    async def writer() -> None:
        for number in waiting:
            began = time.perf_counter()
            await write_book(index, sentences, number, options.chunks)
            times.append(time.perf_counter() - began)
            if len(times) % step == 0:
                rate = len(times) * options.chunks / (time.perf_counter() - started)
                each = percentile(times[-step:], 0.5)
                where = memory_of(options.pid) if options.pid else ""
                print(
                    f"  {len(times):6,} books written, {rate:,.0f} chunks/s, {1000 * each:,.0f} ms "
                    f"a book, {where}",
                    flush=True,
                )

    await asyncio.gather(*(writer() for _ in range(WRITERS)))


async def fill(app: Application, client: AsyncQdrantClient, options: argparse.Namespace) -> None:
    """Write the missing books, and build the graphs afterwards."""
    there = {*await app.index.books()}
    missing = [number for number in range(options.books) if book_name(number) not in there]
    if missing:
        sentences = Sentences.of(options.data)
        await write_book(app.index, sentences, missing[0], options.chunks)
        await indexing(client, options, 0)
        await write_books(app.index, sentences, missing[1:], options)
        await indexing(client, options, 10_000)
    started = time.perf_counter()
    await built(client, points_of(options))
    print(f"  graphs built after {time.perf_counter() - started:,.0f} s more", flush=True)


async def indexing(client: AsyncQdrantClient, options: argparse.Namespace, kilobytes: int) -> None:
    diff = models.OptimizersConfigDiff(indexing_threshold=kilobytes)
    await client.update_collection(points_of(options), optimizers_config=diff)


async def built(client: AsyncQdrantClient, collection: str) -> None:
    """Wait until the server reports three times in a row that it has nothing to optimise."""
    quiet = 0
    while quiet < 3:
        info = await client.get_collection(collection)
        quiet = quiet + 1 if info.status == models.CollectionStatus.GREEN else 0
        await asyncio.sleep(2)


def points_of(options: argparse.Namespace) -> str:
    return f"{options.prefix}~{DIMENSION}"


async def asked_of(app: Application, options: argparse.Namespace) -> list[Question]:
    lexical = app.lexical
    return [
        Question(text, await app.embedder.embed_query(text), lexical.query_vector(text, "en"))
        for text in questions(options.data, options.questions)
    ]


def scopes(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], SearchFilter]]]:
    chance = random.Random(11)

    def one_of(books: int) -> SearchFilter:
        return SearchFilter(books=(book_name(chance.randrange(books)),))

    yield "any book", lambda: one_of(options.books)
    yield "asked book", lambda: one_of(min(options.books, 5))
    yield "all books", SearchFilter


async def measure_searches(
    app: Application, asked: Sequence[Question], options: argparse.Namespace
) -> None:
    for scope, asked_books in scopes(options):

        async def by_index(one: Question, filter: Callable[[], SearchFilter] = asked_books) -> None:
            found = await app.index.search(one.dense, one.sparse, LIMIT, filter())
            assert found.dense

        async def whole(one: Question, filter: Callable[[], SearchFilter] = asked_books) -> None:
            found = await app.retrieve.search(AskRequest(one.text, k=8, filter=filter()))
            assert found.hits
            assert not found.degraded

        for name, ask in (("index", by_index), ("search", whole)):
            for one in asked[:20]:
                await ask(one)
            for readers in READERS:
                await at_once(f"{name}, {scope}, {readers} readers", ask, asked, readers)


@asynccontextmanager
async def on_server(options: argparse.Namespace) -> AsyncIterator[Application]:
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(
            _env_file=None,
            home=Path(home),
            embedder="local",
            generator="extractive",
            qdrant_url=options.url,
            qdrant_collection_prefix=options.prefix,
        )
        async with application(settings) as app:
            yield app


async def scale(options: argparse.Namespace) -> None:
    client = server_client(options.url, None, timeout_seconds=300)
    before = memory_of(options.pid) if options.pid else None
    async with on_server(options) as app:
        if not options.reuse:
            await fill(app, client, options)
        asked = await asked_of(app, options)
        await measure_searches(app, asked, options)
    await sizes(client, options, before)
    await client.close()


async def sizes(
    client: AsyncQdrantClient, options: argparse.Namespace, before: Memory | None
) -> None:
    info = await client.get_collection(points_of(options))
    chunks = info.points_count or 1
    print(f"  {chunks:,} chunks, {info.segments_count} segments, {info.status}")
    if options.pid:
        print(f"  memory before: {before}; now: {memory_of(options.pid)}")
        print(f"  a chunk: {memory_of(options.pid).per(chunks)}")
    if options.storage:
        folder = options.storage / "collections"
        for path in sorted(folder.glob(f"{options.prefix}~*")):
            used = disk(path)
            print(f"  disk of {path.name}: {used / 2**20:,.0f} MB, {used / chunks:,.0f} B a chunk")


def disk(folder: Path) -> int:
    """Bytes allocated on disk for its files."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--url", required=True, help="of the Qdrant server")
    parser.add_argument("--prefix", default="bench", help="of the collections")
    parser.add_argument("--books", type=int, default=10)
    parser.add_argument("--chunks", type=int, default=1_000, help="of each book")
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--reuse", action="store_true", help="measure what is there")
    parser.add_argument("--pid", type=int, help="of the server, for its memory")
    parser.add_argument("--storage", type=Path, help="of the server, for its disk")
    options = parser.parse_args()
    print("load of the machine before:", *os.getloadavg(), flush=True)
    asyncio.run(scale(options))
    print("load of the machine after:", *os.getloadavg())


if __name__ == "__main__":
    main()
