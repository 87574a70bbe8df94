"""Cost of a search in a small, a large and a very large index: time, memory, start-up.

    python scripts/bench/search.py ../shared/data [--chunks 3000 30000 100000] [--questions 400]
        [--home FOLDER]

The index holds one book of `--chunks` chunks, see `varied_book.py`. Embedded engine, local model;
the questions are those of the sets about the books, each asked once. For each size, in separate
processes:

- one reader: `Retrieve.search` (question embedded, BM25 and vectors, fusion, second stage, k = 8);
  the same and the context assembled from it; complete offline answers with their follow-ups;
- eight concurrent readers: the same searches, each reader sends the next question when it gets a
  result;
- the position of a page in the book, which each question of the widget names: pages not asked for
  before;
- peers with the same chunks, vectors and questions: the bare engine (one query for both lists fused
  by its own RRF, payloads read, BM25 terms and vectors precomputed), qdrant-client's local mode
  (the same query, up to 10,000 chunks), and bm25s if it is installed (only BM25, no payloads);
- `textbook-rag serve`: seconds from its start to the end of the first answer; its memory, split
  into its own and mapped pages, after the first answer and after sixty.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from serving import Server, free_port, request_when_up, server
from varied_book import BOOK, build, real_chunks, varied_book

from app.adapters.bm25 import Bm25Encoder
from app.adapters.local_embedder import DIMENSION, LocalEmbedder
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.payload import DENSE, SPARSE
from app.adapters.question_file import read_questions
from app.bootstrap.application import Application, application
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.query import Hit, SearchQuery
from app.services.ports import IndexPoint
from app.settings import Settings

QUESTIONS = ("openstax-biology", "rust-book-quizzes", "hf-course-quizzes")
READERS = 8
LOCAL_MODE_UP_TO = 10_000
"""Chunks; for more, qdrant-client's local mode itself warns."""


def questions(data: Path, count: int) -> list[str]:
    found = [
        one.question
        for name in QUESTIONS
        for one in read_questions(data / "qa" / name / "questions.jsonl")
    ]
    return random.Random(3).sample(list(dict.fromkeys(found)), count)


# --- ours ----------------------------------------------------------------------------------------


def measure_ours(home: Path, asked: Sequence[str]) -> None:
    asyncio.run(ours(home, asked))


async def ours(home: Path, asked: Sequence[str]) -> None:
    settings = Settings(
        _env_file=None, home=home, embedder="local", generator="extractive", qdrant_url=""
    )
    warm, rest = asked[:20], asked[20:]
    parts = [rest[at::4] for at in range(4)]
    async with application(settings) as app:
        search, consult = partial(search_once, app), partial(consult_once, app)
        await one_by_one("the first 20 of the process", search, warm)
        await one_by_one("one reader, search", search, parts[0])
        await one_by_one("one reader, search and context", consult, parts[1])
        await one_by_one("one reader, answer", partial(answer_once, app), parts[2])
        await at_once(search, parts[3])
        pages = {await first_page(app, question) for question in warm}
        await one_by_one("the place of a page", partial(place_once, app), sorted(pages))


async def search_once(app: Application, question: str) -> None:
    await hits(app, question)


async def consult_once(app: Application, question: str) -> None:
    await app.retrieve.context(await hits(app, question), app.settings.context_tokens)


async def hits(app: Application, question: str) -> Sequence[Hit]:
    found = await app.retrieve.search(SearchQuery(question, k=8))
    assert found.hits
    assert not found.degraded
    return found.hits


async def first_page(app: Application, question: str) -> str:
    found = await app.retrieve.search(SearchQuery(question, k=1))
    return found.hits[0].chunk.deep_link_url


async def place_once(app: Application, page: str) -> None:
    assert await app.answer.consult.places.page(page, await app.index.books())


async def answer_once(app: Application, question: str) -> None:
    await app.answer.answer(AskRequest(question))


Ask = Callable[[str], Awaitable[None]]


async def one_by_one(name: str, ask: Ask, asked: Sequence[str]) -> None:
    cpu = time.process_time()
    times = [await timed(ask, question) for question in asked]
    report(name, times, (time.process_time() - cpu) / len(asked))


async def at_once(ask: Ask, asked: Sequence[str]) -> None:
    waiting, times = iter(asked), list[float]()

    async def reader() -> None:
        for question in waiting:
            times.append(await timed(ask, question))

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(reader() for _ in range(READERS)))
    rate = len(times) / (time.perf_counter() - started)
    spent = (time.process_time() - cpu) / len(times)
    report(f"{READERS} readers, search", times, spent, f", {rate:.0f} a second")


async def timed(ask: Ask, question: str) -> float:
    started = time.perf_counter()
    await ask(question)
    return time.perf_counter() - started


def report(name: str, times: Sequence[float], cpu: float | None = None, more: str = "") -> None:
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    spent = "" if cpu is None else f", CPU {1_000 * cpu:5.1f} ms each"
    line = f"p50 {1_000 * p50:7.1f} ms, p95 {1_000 * p95:7.1f} ms{spent}{more}"
    print(f"  {name:32} {line}, n {len(times)}", flush=True)


# --- peers ---------------------------------------------------------------------------------------


def measure_peers(home: Path, asked: Sequence[str]) -> None:
    points = asyncio.run(stored(home))
    embedder, sparse = LocalEmbedder.load(), Bm25Encoder()
    vectors = asyncio.run(embedder.embed_documents(list(asked)))
    terms = [sparse.encode_query(question, "en") for question in asked]
    queries = [
        (vector.tolist(), list(one.indices))
        for vector, one in zip(vectors, terms, strict=True)
        if one.indices
    ]
    report("the bare engine, RRF", bare_engine(home, queries))
    if len(points) <= LOCAL_MODE_UP_TO:
        report("qdrant-client, local mode", local_mode(points, queries[:60]))
    try:
        report("bm25s, BM25 alone", bm25s_alone(points, asked))
    except ImportError:
        print("  (bm25s is not installed)")


async def stored(home: Path) -> list[IndexPoint]:
    pages = (await EdgeIndex(home).snapshot(BookId(BOOK))).pages
    return [one async for page in pages for one in page]


def bare_engine(home: Path, queries: Sequence[tuple[list[float], list[int]]]) -> list[float]:
    import qdrant_edge as edge  # noqa: PLC0415 - for this process alone

    shard = edge.EdgeShard.load(os.fspath(home / "index" / BOOK / "000001" / "shard"))
    times = []
    for vector, indices in queries:
        sparse = edge.SparseVector(indices, [1.0] * len(indices))
        started = time.perf_counter()
        prefetches = [
            edge.Prefetch(limit=50, query=edge.Query.Nearest(vector, using=DENSE)),
            edge.Prefetch(limit=50, query=edge.Query.Nearest(sparse, using=SPARSE)),
        ]
        found = shard.query(
            edge.QueryRequest(
                limit=8,
                query=edge.Fusion.Rrf(k=2),  # type: ignore[arg-type]  # the stub lacks its base
                prefetches=prefetches,
                with_payload=True,
            )
        )
        times.append(time.perf_counter() - started)
        assert found
    return times


def local_mode(
    points: Sequence[IndexPoint], queries: Sequence[tuple[list[float], list[int]]]
) -> list[float]:
    from qdrant_client import QdrantClient, models  # noqa: PLC0415 - for this process alone

    client = QdrantClient(":memory:")
    client.create_collection(
        BOOK,
        {DENSE: models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)},
        {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    for one in points:
        sparse = models.SparseVector(
            indices=list(one.sparse.indices), values=list(one.sparse.values)
        )
        point = models.PointStruct(
            id=one.chunk.chunk_id,
            vector={DENSE: one.dense.tolist(), SPARSE: sparse},
            payload={"text": one.chunk.text_content},
        )
        client.upsert(BOOK, [point])
    times = []
    for vector, indices in queries:
        sparse = models.SparseVector(indices=indices, values=[1.0] * len(indices))
        started = time.perf_counter()
        client.query_points(
            BOOK,
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            prefetch=[
                models.Prefetch(query=vector, using=DENSE, limit=50),
                models.Prefetch(query=sparse, using=SPARSE, limit=50),
            ],
            limit=8,
        )
        times.append(time.perf_counter() - started)
    return times


def bm25s_alone(points: Sequence[IndexPoint], asked: Sequence[str]) -> list[float]:
    import bm25s  # noqa: PLC0415 - may be missing

    def tokens(texts: Sequence[str]) -> Any:  # noqa: ANN401 - the library has no types
        return bm25s.tokenize(list(texts), stopwords="en", show_progress=False)

    index = bm25s.BM25()
    index.index(tokens([one.chunk.lexical_text for one in points]), show_progress=False)
    times = []
    for question in asked:
        started = time.perf_counter()
        index.retrieve(tokens([question]), k=8, show_progress=False)
        times.append(time.perf_counter() - started)
    return times


# --- the server ----------------------------------------------------------------------------------


def measure_server(home: Path, asked: Sequence[str]) -> None:
    starts = []
    env = {"RAG_HOME": str(home), "RAG_EMBEDDER": "local", "RAG_GENERATOR": "extractive"}
    env |= {"QDRANT_URL": "", "RAG_QUESTIONS_PER_MINUTE": "0", "RAG_QUESTIONS_PER_DAY": "0"}
    for _ in range(3):
        env["RAG_PORT"] = str(free_port())
        with server(["-m", "app.cli", "serve"], env, quiet=True) as served:
            asyncio.run(chat(served, asked[0]))
            starts.append(time.perf_counter() - served.started)
            first = memory(served)
            if len(starts) == 3:
                for question in asked:
                    asyncio.run(chat(served, question))
                print(f"  serve, memory after the first answer    {first}")
                print(f"  serve, memory after {len(asked):4} answers        {memory(served)}")
    print("  serve, start to first answer        ", ", ".join(f"{one:.2f} s" for one in starts))


async def chat(served: Server, question: str) -> None:
    response = await request_when_up(served.port, "POST", "/v1/chat", {"question": question})
    assert response.startswith(b"HTTP/1.1 200"), response[:300]


def memory(served: Server) -> str:
    all_in, own, mapped = map(served.megabytes, ("VmRSS", "RssAnon", "RssFile"))
    return f"{all_in:.0f} MB (own {own:.0f}, mapped files {mapped:.0f})"


# --- putting it together --------------------------------------------------------------------------


def measure(chunks: Sequence[Chunk], home: Path, asked: Sequence[str]) -> None:
    asyncio.run(build(chunks, home))
    print(f"\n{len(chunks):,} chunks, load {os.getloadavg()[0]:.1f}", flush=True)
    in_child(measure_peers, home, asked)
    in_child(measure_ours, home, asked)
    measure_server(home, asked[:60])


def in_child(work: Callable[[Path, Sequence[str]], None], home: Path, asked: Sequence[str]) -> None:
    """Run in its own process, so that the caches of one part do not help another."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=(home, asked))
    child.start()
    child.join()
    if child.exitcode:
        sys.exit("a part of the measurement failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--chunks", type=int, nargs="+", default=[3_000, 30_000, 100_000])
    parser.add_argument("--questions", type=int, default=620)
    parser.add_argument("--home", type=Path, help="where the temporary indexes lie")
    options = parser.parse_args()
    if options.home:
        options.home.mkdir(parents=True, exist_ok=True)
    asked = questions(options.data, options.questions)
    real = real_chunks(options.data)
    print(f"{len(real):,} real chunks, {len(asked)} questions")
    for count in options.chunks:
        with tempfile.TemporaryDirectory(dir=options.home) as home:
            measure(varied_book(real, count), Path(home), asked)


if __name__ == "__main__":
    main()
