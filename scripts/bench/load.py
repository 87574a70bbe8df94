"""How many readers one process serves, and its behaviour beyond that.

    python scripts/bench/load.py [--book BOOK_DIR --questions QUESTIONS.jsonl] [--readers 1 4 ...]
        [--seconds 8] [--kinds search answer stream] [--ingest BOOK_DIR]

Servers in their own processes, client and double on the same machine:

- `search`: POST /v1/search; `answer`: offline answers of POST /v1/chat; `stream`: answers written
  by a double of an OpenAI server, as events;
- for each number of readers, each of which asks again as soon as it is answered, from its own
  address: requests answered per second, latency, requests refused (503 or 429 with Retry-After,
  after which the reader waits a second) and their latency, failures, the server's CPU time per
  request, memory;
- the same at half of the highest rate (open loop: arrivals do not wait), and with `--ingest` while
  another process ingests that book repeatedly, as a second process of the same RAG_HOME, with the
  priority that the server gives it (`give_way`).

The machine's 15-minute load is printed: other programs make every figure except CPU time worse.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from load_client import Connection, Reply
from serving import ROOT, Server, free_port, head, memory_of, request_when_up, server

from app.api.ingest_jobs import give_way
from app.bootstrap.question_file import read_questions
from app.domain.evaluation.measurement import percentile
from tests.openai_double import OpenAIDouble, quote_sources

READERS = (1, 4, 16, 64, 256)
SAMPLE_QUESTIONS = ROOT / "tests/data/sample_questions.jsonl"
HITS = 5
OWN = ("search", "answer")
"""Kinds that our server answers offline."""
LIFTED = {
    "RAG_QUESTIONS_PER_MINUTE": "0",
    "RAG_EMBEDDER": "local",
    "QDRANT_URL": "",
}


@dataclass
class Run:
    """Replies of one run, by result."""

    seconds: float
    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    cpu_ms: float = 0.0
    megabytes: float = 0.0

    def add(self, reply: Reply) -> None:
        if reply.status == 200 and reply.whole:
            self.served.append(reply.seconds)
        elif reply.status in {429, 503} and reply.retry_after is not None:
            self.refused.append(reply.seconds)
        else:
            self.failed[str(reply.status)] += 1

    @property
    def rate(self) -> float:
        return len(self.served) / self.seconds

    def row(self) -> list[str]:
        found = [1000 * percentile(self.served, share) for share in (0.5, 0.95, 0.99)]
        ms = [f"{one:,.1f}" if one < SMALL else f"{one:,.0f}" for one in found]
        late = f"{1000 * max(self.refused, default=0):,.0f}"
        return [
            f"{self.rate:,.1f}",
            *ms,
            f"{1000 * max(self.served, default=0):,.0f}",
            f"{len(self.refused)} (latest {late})" if self.refused else "0",
            ", ".join(f"{count} {what}" for what, count in self.failed.items()) or "0",
            f"{self.cpu_ms:.1f}",
            f"{self.megabytes:,.0f}",
        ]


SMALL = 20
"""Milliseconds below which tenths are printed."""
TURNS = 3
"""Alternating runs with and without an ingest: the speed of a shared machine changes over time."""
HEAD = "answered/s | p50 ms | p95 | p99 | max | refused | failed | CPU ms each | MB"


@dataclass(frozen=True)
class Target:
    """A server process, and the requests of one kind to it."""

    name: str
    running: Server
    requests: Callable[[], Iterator[bytes]]

    @contextmanager
    def measured(self, run: Run) -> Iterator[None]:
        before = self.running.cpu_seconds()
        yield
        used = self.running.cpu_seconds() - before
        run.cpu_ms = 1000 * used / max(1, len(run.served))
        run.megabytes = memory_of(self.running.pid).own / 1024


async def closed(target: Target, readers: int, seconds: float) -> Run:
    """Each reader asks again as soon as it is answered."""
    run, requests = Run(seconds), target.requests()
    end = time.perf_counter() + seconds

    async def reader(number: int) -> None:
        async with Connection(target.running.port, number) as connection:
            while time.perf_counter() < end:
                reply = await connection.ask(next(requests))
                if reply.began + reply.seconds <= end:
                    run.add(reply)
                if reply.status != 200:
                    await asyncio.sleep(min(1.0, max(0.0, end - time.perf_counter())))

    with target.measured(run):
        await asyncio.gather(*map(reader, range(readers)))
    return run


async def paced(target: Target, rate: float, seconds: float, readers: int = 64) -> Run:
    """Requests arrive evenly at this rate; latency counts from the arrival."""
    run, requests = Run(seconds), target.requests()
    arrivals: asyncio.Queue[float | None] = asyncio.Queue()

    async def reader(number: int) -> None:
        async with Connection(target.running.port, number) as connection:
            while (arrived := await arrivals.get()) is not None:
                run.add(await connection.ask(next(requests), arrived))

    async def arrive() -> None:
        began = time.perf_counter()
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            arrivals.put_nowait(due)
        for _ in range(readers):
            arrivals.put_nowait(None)

    with target.measured(run):
        await asyncio.gather(arrive(), *map(reader, range(readers)))
    return run


def bodies(kind: str, questions: Sequence[str], book: str) -> Callable[[], Iterator[bytes]]:
    search = kind == "search"
    extra: dict[str, object] = {"k": HITS} if search else {"stream": kind == "stream"}
    path = "/v1/search" if search else "/v1/chat"
    made = [head("POST", path, {"question": one, "book": book, **extra}) for one in questions]
    return lambda: itertools.cycle(made)


@contextmanager
def targets(
    options: argparse.Namespace, home: Path, questions: Sequence[str], book_id: str
) -> Iterator[list[Target]]:
    with ExitStack() as stack:
        found = []
        serve = ["-m", "app.cli", "serve"]
        base = {**LIFTED, "RAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
        offline = [kind for kind in OWN if kind in options.kinds]
        if offline:
            env = {**base, "RAG_GENERATOR": "extractive", "RAG_PORT": str(free_port())}
            running = stack.enter_context(server(serve, env))
            found += [Target(kind, running, bodies(kind, questions, book_id)) for kind in offline]
        if "stream" in options.kinds:
            double = stack.enter_context(OpenAIDouble(answering=quote_sources))
            env = {**base, "RAG_GENERATOR": "openai", "RAG_OPENAI_BASE_URL": double.url}
            env |= {"RAG_PORT": str(free_port())}
            running = stack.enter_context(server(serve, env))
            found.append(Target("stream", running, bodies("stream", questions, book_id)))
        yield found


def ingest(home: Path, book: Path | None, version: int = 0) -> subprocess.Popen[bytes]:
    """Ingest the book, or the sample book. With another version its address is another one."""
    arguments = ["demo", "--no-serve"]
    if book is not None:
        arguments = ["ingest", str(book), "--base-url", f"https://book.example/{version}"]
    env = {**os.environ, **LIFTED, "RAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "app.cli", *arguments]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=quiet, stderr=quiet)
    if book:
        give_way(process.pid)
    return process


def only_book(home: Path) -> str:
    """The id of the book that was ingested first."""
    env = {**os.environ, **LIFTED, "RAG_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "app.cli", "books", "--json"]
    done = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True)
    return str(json.loads(done.stdout)[0]["book"])


def table(name: str, rows: Sequence[tuple[str, Run]]) -> None:
    print(f"\n{name} | {HEAD}", flush=True)
    for label, run in rows:
        print(" | ".join([label, *run.row()]), flush=True)


async def measure(target: Target, options: argparse.Namespace, home: Path) -> None:
    """Print the table of this target."""
    await request_when_up(target.running.port, "GET", "/healthz")
    await closed(target, 4, 3)  # loads data that is loaded with the first questions
    rows = [
        (f"{readers} readers", await closed(target, readers, options.seconds))
        for readers in options.readers
    ]
    best = max(run.rate for _, run in rows)
    with_ingests = options.ingest and target.name in OWN
    for _ in range(TURNS if with_ingests else 1):
        half = await paced(target, best / 2, options.seconds)
        rows.append((f"half load ({best / 2:.0f}/s)", half))
        if with_ingests:
            async with ingests(home, options.ingest):
                rows.append(("half load, ingests", await paced(target, best / 2, options.seconds)))
    table(target.name, rows)


@asynccontextmanager
async def ingests(home: Path, book: Path) -> AsyncIterator[None]:
    """Ingest the book repeatedly inside the block."""

    async def again() -> None:
        for version in count(1):
            with ingest(home, book, version) as running:
                try:
                    await asyncio.to_thread(running.wait)
                finally:
                    running.terminate()

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def main(options: argparse.Namespace) -> None:
    questions = [one.question for one in read_questions(options.questions) if not one.history]
    print("load of the machine before:", *os.getloadavg())
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "rag"
        assert ingest(home, options.book).wait() == 0, "the book could not be ingested"
        with targets(options, home, questions, only_book(home)) as found:
            for target in found:
                await measure(target, options, home)
    print("load of the machine after:", *os.getloadavg())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--book", type=Path)
    parser.add_argument("--questions", type=Path, default=SAMPLE_QUESTIONS)
    parser.add_argument("--readers", type=int, nargs="+", default=READERS)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--kinds", nargs="+", default=["search", "answer", "stream"])
    parser.add_argument("--ingest", type=Path)
    asyncio.run(main(parser.parse_args()))
