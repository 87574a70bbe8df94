"""The cost of answering, without search and generator: one reader, many readers, memory.

    python scripts/bench/chat.py [--offline] [--streams 200] [--seconds 20] [--answers 10000]
        [--book BOOK_DIR --site SITE --questions QUESTIONS.jsonl]

Starts the server (like `serve`) and the tests' Cohere double in their own processes, ingests the
sample book or another one, and prints:

- one reader: the time to the first delta of a streamed answer, and the rest of it without the
  search (`POST /v1/search` minus an empty request, after a pause as long as the generator's: a
  process that has slept is slower) and without the generator (a call by Cohere's SDK alone, from
  this process, with the hits' paragraphs as documents). With --offline there is no generator: the
  rest is the choice of sentences.
- many readers: the same with this number of concurrent streams, each started as soon as another
  ends; the generator writes for `--seconds` each. Overhead is the time to the first delta minus
  search and generator of one reader alone. Then all streams are started at the same moment.
- memory: the server's resident memory after each tenth of the answers.

The double's first event has eight words, the others two: an answer is shown as soon as a paragraph
supports its beginning (three terms, about six words), and the wait for these words is the model's.
Cohere's rate limits of a key are switched off. All processes share this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serving import ROOT, Server, child, free_port, head, request, request_when_up, server

sys.path.insert(0, str(ROOT))  # the double is one of the tests

QUESTIONS = (
    "What is an inverted index?",
    "Why do postings lists store gaps?",
    "How does BM25 treat long documents?",
    "What does recall measure?",
    "What is a dense vector?",
    "How are two ranked lists fused?",
    "Why do chunks overlap?",
    "What is a stop word?",
    "How does Zipf's law describe words?",
    "What is query expansion?",
    "What does an embedding model learn?",
    "When should an answer be refused?",
)
FIRST_PAUSE = 0.3
"""Seconds until the double's first event, similar to a hosted model."""
EVENTS = 25
"""Approximate length of one streamed answer of the double."""


# --- the server and the double, each in a process of its own --------------------------------------


def run_double(first_pause: float, pause: float) -> None:
    from tests.cohere_double import CohereDouble  # noqa: PLC0415 - for this process alone

    with CohereDouble(pieces=2, first_piece=8, first_pause=first_pause, pause=pause) as double:
        print(double.url, flush=True)
        while True:
            time.sleep(1)
            double.requests.clear()


def run_server() -> None:
    import uvicorn  # noqa: PLC0415 - for this process alone

    import app.bootstrap.cohere  # noqa: PLC0415
    from app.domain.cost import RateLimits  # noqa: PLC0415
    from app.main import create_app  # noqa: PLC0415
    from app.settings import Settings  # noqa: PLC0415

    app.bootstrap.cohere.default_limits = lambda *_: RateLimits()  # type: ignore[attr-defined]
    crowd = 10_000  # all readers have one address
    settings = Settings(
        _env_file=None,
        questions_per_minute=0,
        questions_per_day=0,
        answers_at_once=crowd,
    )
    uvicorn.run(create_app(settings), host="127.0.0.1", port=settings.port, log_level="warning")


def role(name: str, *arguments: str) -> list[str]:
    """Return the arguments with which Python runs this program as the double or the server."""
    return [__file__, "--role", name, *arguments]


@contextmanager
def double(first_pause: float, pause: float) -> Iterator[str]:
    """Yield the address of a Cohere double."""
    with child(role("double", str(first_pause), str(pause))) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@contextmanager
def ready(env: dict[str, str]) -> Iterator[Server]:
    """Yield a server that is ready to answer."""
    with server(role("server"), env) as served:
        asyncio.run(request_when_up(served.port, "GET", "/readyz"))
        yield served


# --- readers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Streamed:
    first: float
    """Seconds to the first delta."""
    degraded: bool


async def ask(port: int, question: str) -> Streamed:
    """Ask and read the answer to its end. RuntimeError if it is not an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        start = time.perf_counter()
        writer.write(head("POST", "/v1/chat", {"question": question, "stream": True}))
        received, first = b"", 0.0
        while data := await reader.read(65_536):
            received += data
            if not first and b"event: delta" in received:
                first = time.perf_counter() - start
    finally:
        writer.close()
    if b"event: end" not in received:
        message = received[:300].decode(errors="replace") + " ... " + received[-300:].decode()
        raise RuntimeError(message)
    return Streamed(first, b'"degraded":[]' not in received)


async def timed(port: int, method: str, path: str, body: object = None) -> float:
    start = time.perf_counter()
    response = await request(port, method, path, body)
    assert response.startswith(b"HTTP/1.1 200"), response[:300]
    return time.perf_counter() - start


# --- the measurements ----------------------------------------------------------------------------


def p(values: Sequence[float], percent: int) -> float:
    """Return the percentile in milliseconds."""
    ordered = sorted(values)
    return 1_000 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


@dataclass(frozen=True)
class Alone:
    """Median seconds, with one reader at a time."""

    search: float
    generator: float


async def one_reader(port: int, questions: Sequence[str], url: str) -> Alone:
    generator = await generator_alone(url, port, questions) if url else [0.0]
    asked = [questions[at % len(questions)] for at in range(max(60, len(questions)))]
    for question in asked[: len(questions)]:
        await ask(port, question)
    empty = statistics.median([await timed(port, "GET", "/healthz") for _ in asked])
    search, first = [], []
    for question in asked:  # alternating, so that both are measured at the same machine speed
        await asyncio.sleep(FIRST_PAUSE if url else 0.0)
        body = {"question": question, "k": 8}
        search.append(await timed(port, "POST", "/v1/search", body) - empty)
        await asyncio.sleep(FIRST_PAUSE if url else 0.0)
        first.append((await ask(port, question)).first)
    alone = Alone(statistics.median(search), statistics.median(generator))
    own = [
        all_in - at_search - alone.generator
        for all_in, at_search in zip(first, search, strict=True)
    ]
    print(f"one reader, {len(asked)} questions (ms)          p50     p95")
    for name, values in (
        ("time to the first delta", first),
        ("  search", search),
        ("  generator, the SDK alone", generator),
        ("  our own", own),
    ):
        print(f"  {name:32} {p(values, 50):9.1f} {p(values, 95):7.1f}")
    return alone


async def many_readers(
    served: Server, questions: Sequence[str], streams: int, answers: int, alone: Alone, ramp: float
) -> None:
    """Keep `streams` answers open, started over `ramp` seconds, until there are `answers`."""
    waiting = iter(range(answers))
    over: list[float] = []
    degraded: list[bool] = []
    errors: list[str] = []

    async def reader(number: int) -> None:
        await asyncio.sleep(ramp * number / streams)
        for at in waiting:
            try:
                answer = await ask(served.port, questions[at % len(questions)])
                over.append(answer.first - alone.search - alone.generator)
                degraded.append(answer.degraded)
            except (OSError, RuntimeError) as error:
                errors.append(str(error))

    start, cpu = time.perf_counter(), served.cpu_seconds()
    await asyncio.gather(*(reader(number) for number in range(streams)))
    spent, cpu = time.perf_counter() - start, served.cpu_seconds() - cpu
    how = f"begun over {ramp:g} s" if ramp else "begun at once"
    print(f"{streams} streams at a time, {how}, {answers} answers in {spent:.1f} s")
    print(f"  errors {len(errors)}, degraded {sum(degraded)}; ", end="")
    print(f"overhead p50 {p(over, 50):.0f} ms, p95 {p(over, 95):.0f} ms; ", end="")
    print(
        f"the server's CPU {1_000 * cpu / answers:.1f} ms an answer, load {os.getloadavg()[0]:.1f}"
    )
    for error in errors[:3]:
        print(f"    {error}")


async def memory(served: Server, questions: Sequence[str], answers: int) -> None:
    print(f"memory over {answers} answers (MB): {served.megabytes():.0f}", end="")
    start, cpu = time.perf_counter(), served.cpu_seconds()
    for _ in range(10):
        waiting = iter(range(answers // 10))

        async def reader(waiting: Iterator[int] = waiting) -> None:
            for at in waiting:
                await ask(served.port, questions[at % len(questions)])

        await asyncio.gather(*(reader() for _ in range(8)))
        print(f" {served.megabytes():.0f}", end="", flush=True)
    rate = answers / (time.perf_counter() - start)
    cpu = (served.cpu_seconds() - cpu) / answers
    print(f"; {rate:.0f} answers a second, the server's CPU {1_000 * cpu:.1f} ms an answer")


async def generator_alone(url: str, port: int, questions: Sequence[str]) -> list[float]:
    """Return the seconds to the first text of the SDK alone, with the hits' paragraphs."""
    from cohere import AsyncClientV2  # noqa: PLC0415 - not needed offline

    times = []
    async with AsyncClientV2(api_key="test-key", base_url=url) as client:
        for question in questions:
            response = await request(port, "POST", "/v1/search", {"question": question, "k": 8})
            hits = json.loads(response.partition(b"\r\n\r\n")[2])["hits"]
            texts = [text for hit in hits for text in hit["text"].split("\n\n")]
            documents = [{"id": str(at), "data": {"text": text}} for at, text in enumerate(texts)]
            start = time.perf_counter()
            async for event in client.chat_stream(
                model="command-a-03-2025",
                messages=[{"role": "user", "content": question}],
                documents=documents,
            ):
                if event.type == "content-delta":
                    times.append(time.perf_counter() - start)
                    break
    return times[1:]  # the first one opens the connection


# --- putting it together --------------------------------------------------------------------------


def environment(home: Path, cohere: str) -> dict[str, str]:
    env = {
        "RAG_HOME": str(home),
        "RAG_PORT": str(free_port()),
        "RAG_EMBEDDER": "cohere" if cohere else "local",
        "RAG_GENERATOR": "cohere" if cohere else "extractive",
        "RAG_COHERE_EMBED_DIMENSION": "256",
        "QDRANT_URL": "",
        "PYTHONPATH": str(ROOT),
    }
    if cohere:
        env |= {"CO_API_KEY": "test-key", "RAG_COHERE_BASE_URL": cohere}
        env |= {"RAG_COHERE_TIER": "production"}
    return env


def ingest(options: argparse.Namespace, env: dict[str, str]) -> None:
    if options.book is None:
        arguments = ["demo", "--no-serve"]
    else:
        arguments = ["ingest", str(options.book), "--site", options.site]
        arguments += ["--base-url", "https://book.example", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        check=False,
        env={**os.environ, **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)


def read_questions(path: Path | None) -> list[str]:
    if path is None:
        return list(QUESTIONS)
    lines = path.read_text("utf-8").split("\n")
    asked = [json.loads(line)["question"] for line in lines if line]
    return asked[:: max(1, len(asked) // 60)]


def measure(options: argparse.Namespace, home: Path) -> None:
    questions = read_questions(options.questions)
    pause = (options.seconds - FIRST_PAUSE) / EVENTS
    with provider(options, 0.0, 0.0) as url:
        ingest(options, environment(home, url))
    with provider(options, FIRST_PAUSE, 0.0) as url, ready(environment(home, url)) as served:
        alone = asyncio.run(one_reader(served.port, questions, url))
    with provider(options, FIRST_PAUSE, pause) as url, ready(environment(home, url)) as served:
        if url:
            paced = asyncio.run(generator_alone(url, served.port, questions[:6]))
            alone = Alone(alone.search, statistics.median(paced))
        for ramp, rounds in ((options.seconds, 3), (0.0, 1)):
            answers = options.streams * rounds
            asyncio.run(many_readers(served, questions, options.streams, answers, alone, ramp))
    if options.answers:
        with provider(options, 0.0, 0.0) as url, ready(environment(home, url)) as served:
            asyncio.run(memory(served, questions, options.answers))


@contextmanager
def provider(options: argparse.Namespace, first_pause: float, pause: float) -> Iterator[str]:
    """Yield the address of the Cohere double; "" when offline."""
    if options.offline:
        yield ""
    else:
        with double(first_pause, pause) as url:
            yield url


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    arguments.add_argument("--offline", action="store_true")
    arguments.add_argument("--streams", type=int, default=200)
    arguments.add_argument("--seconds", type=float, default=20.0)
    arguments.add_argument("--answers", type=int, default=10_000)
    arguments.add_argument("--book", type=Path)
    arguments.add_argument("--site", default="plain")
    arguments.add_argument("--questions", type=Path)
    options = arguments.parse_args()
    if options.role:
        role, *rest = options.role
        if role == "double":
            run_double(*map(float, rest))
        else:
            run_server()
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder) / "rag")


if __name__ == "__main__":
    main()
