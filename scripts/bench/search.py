"""Cost of a search in a small, a large and a very large index: time, memory, start-up.

    python scripts/bench/search.py ../shared/data [--chunks 3000 30000 100000] [--questions 400]
        [--home FOLDER]

The index holds one book of `--chunks` chunks, see `made_up_books.py`. Embedded engine, local model;
the questions are those of the sets about the books, each asked once. For each size, in separate
processes:

- writing the chunks and publishing them;

- one reader: `Retrieve.search` (question embedded, BM25 and vectors, fusion, second stage, k = 8);
  the same and the context assembled from it; complete offline answers with their follow-ups;
- eight concurrent readers: the same searches, each reader sends the next question when it gets a
  result;
- `textbook-rag serve`: seconds from its start to the end of the first answer; its memory, split
  into its own and mapped pages, after the first answer and after sixty.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from made_up_books import Sentences, book_name, made_up_book, made_up_manifest
from serving import Server, free_port, memory_of, request_when_up, server

from app.adapters.local_embedder import DIMENSION
from app.adapters.qdrant.edge import EdgeIndex
from app.bootstrap.application import Application, application
from app.bootstrap.question_file import read_questions
from app.domain.answering.request import AskRequest
from app.domain.evaluation.measurement import percentile
from app.domain.retrieval.query import Hit
from app.services.ingest import WRITE_BATCH
from app.settings import Settings

QUESTIONS = ("openstax-biology", "rust-book-quizzes", "hf-course-quizzes")
READERS = 8


def questions(data: Path, count: int) -> list[str]:
    found = [
        one.question
        for name in QUESTIONS
        for one in read_questions(data / "qa" / name / "questions.jsonl")
    ]
    return random.Random(3).sample(list(dict.fromkeys(found)), count)


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
        await at_once("the first 20 of the process", search, warm)
        await at_once("one reader, search", search, parts[0])
        await at_once("one reader, search and context", consult, parts[1])
        await at_once("one reader, answer", partial(answer_once, app), parts[2])
        await at_once(f"{READERS} readers, search", search, parts[3], READERS)


async def search_once(app: Application, question: str) -> None:
    await hits(app, question)


async def consult_once(app: Application, question: str) -> None:
    app.retrieve.context(await hits(app, question), app.settings.context_tokens)


async def hits(app: Application, question: str) -> Sequence[Hit]:
    found = await app.retrieve.search(AskRequest(question, k=8))
    assert found.hits
    assert not found.degraded
    return found.hits


async def answer_once(app: Application, question: str) -> None:
    await app.answer.answer(AskRequest(question))


T = TypeVar("T")


async def at_once(
    name: str, ask: Callable[[T], Awaitable[object]], asked: Sequence[T], readers: int = 1
) -> None:
    """Ask with this number of concurrent readers; print latency, CPU time and rate."""
    waiting, times = iter(asked), list[float]()

    async def reader() -> None:
        for one in waiting:
            began = time.perf_counter()
            await ask(one)
            times.append(time.perf_counter() - began)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(reader() for _ in range(readers)))
    rate = len(times) / (time.perf_counter() - started)
    spent = 1_000 * (time.process_time() - cpu) / len(times)
    shares = [1_000 * percentile(times, share) for share in (0.5, 0.95, 0.99)]
    line = ", ".join(f"p{n} {ms:6.1f}" for n, ms in zip((50, 95, 99), shares, strict=True))
    print(f"  {name:34} {line} ms, {rate:5.0f}/s, our CPU {spent:.1f} ms", flush=True)


def measure_server(home: Path, asked: Sequence[str]) -> None:
    starts = []
    env = {"RAG_HOME": str(home), "RAG_EMBEDDER": "local", "RAG_GENERATOR": "extractive"}
    env |= {"QDRANT_URL": "", "RAG_QUESTIONS_PER_MINUTE": "0"}
    for _ in range(3):
        env["RAG_PORT"] = str(free_port())
        with server(["-m", "app.cli", "serve"], env) as served:
            asyncio.run(chat(served, asked[0]))
            starts.append(time.perf_counter() - served.started)
            first = memory_of(served.pid)
            if len(starts) == 3:
                for question in asked:
                    asyncio.run(chat(served, question))
                print(f"  serve, memory after the first answer    {first}")
                print(
                    f"  serve, memory after {len(asked):4} answers        {memory_of(served.pid)}"
                )
    print("  serve, start to first answer        ", ", ".join(f"{one:.2f} s" for one in starts))


async def chat(served: Server, question: str) -> None:
    response = await request_when_up(served.port, "POST", "/v1/chat", {"question": question})
    assert response.startswith(b"HTTP/1.1 200"), response[:300]


def measure(sentences: Sentences, count: int, home: Path, asked: Sequence[str]) -> None:
    print(f"\n{count:,} chunks, load {os.getloadavg()[0]:.1f}", flush=True)
    started = time.perf_counter()
    asyncio.run(build(sentences, count, home))
    print(f"  written and published in {time.perf_counter() - started:.1f} s", flush=True)
    in_child(measure_ours, home, asked)
    measure_server(home, asked[:60])


async def build(sentences: Sentences, count: int, home: Path) -> None:
    """Index one book like an ingest, in the embedded engine."""
    writer = await EdgeIndex(home).begin(book_name(0), DIMENSION)
    points = made_up_book(sentences, 0, count)
    while batch := [*islice(points, WRITE_BATCH)]:
        await writer.write(batch)
    await writer.publish(made_up_manifest(0, count))


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
    sentences = Sentences.of(options.data)
    print(f"{len(sentences.texts):,} sentences, {len(asked)} questions")
    for count in options.chunks:
        with tempfile.TemporaryDirectory(dir=options.home) as home:
            measure(sentences, count, Path(home), asked)


if __name__ == "__main__":
    main()
