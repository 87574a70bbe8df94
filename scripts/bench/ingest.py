"""Time, memory and cost of complete ingests, each in its own process.

    python scripts/bench/ingest.py BOOK... [--home FOLDER]
    python scripts/bench/ingest.py --synthetic 100000 [--dimension 256] [--home FOLDER]

For each book, with the embedder that the settings choose: a cold run, a run on the unchanged book,
one with a word edited on the largest page, and one more for another address (nothing to embed).
Wall seconds by phase, CPU seconds, MB/s of Markdown and peak memory; `start` is the process's own
start-up.
`--synthetic` writes that many synthetic chunks of some 1,300 characters like an ingest, and
measures embedding (of which only the cache is real), writing, optimising and publishing separately.
The resident memory is measured after each tenth: the process's own, and mapped pages of files,
which the system reclaims when it needs them. State is in a temporary folder under `--home`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from qdrant_edge import EdgeShard

from app.adapters.bm25 import Bm25Encoder
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.edge_shard import seal
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import Vector
from app.services.ingest import WRITE_BATCH
from app.services.lexical import chunk_vector
from app.services.ports import BookManifest, IndexPoint

_SUFFIXES = {".md", ".mdx"}
_PHASES = ("read", "chunk", "compare", "embed", "index", "publish")


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    cpu: float
    """CPU seconds, summed over cores."""
    megabytes: float
    """Peak resident memory."""
    phases: dict[str, float]
    chunks: int
    embedded: int
    inner: float
    """Seconds by the program's own measurement."""


def ingest(folder: Path, home: Path, *options: str) -> Run:
    command = [sys.executable, "-m", "app.cli", "ingest", str(folder), "--json", "--quiet"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, env={**os.environ, "RAG_HOME": str(home)}
    )
    assert process.stdout
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"{folder}: the ingest failed")
    return Run(
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        report["phases"],
        report["chunks"],
        report["embedded"],
        report["seconds"],
    )


def bench_book(folder: Path, home: Path) -> None:
    copy = home / "source" / folder.resolve().name
    shutil.copytree(folder, copy)
    pages = [path for path in copy.rglob("*") if path.suffix in _SUFFIXES]
    megabytes = sum(path.stat().st_size for path in pages) / 1e6
    state = home / "state"
    runs = {"cold": ingest(copy, state), "unchanged": ingest(copy, state)}
    edit(max(pages, key=lambda path: path.stat().st_size))
    runs["one word"] = ingest(copy, state)
    runs["new address"] = ingest(copy, state, "--base-url", "https://moved.example")
    print(f"\n{copy.name}: {megabytes:.2f} MB of Markdown, {runs['cold'].chunks:,} chunks")
    print(
        f"{'run':12}{'seconds':>8}{'CPU s':>7}{'MB/s':>7}{'peak MB':>9}{'embedded':>9}{'start':>7}",
        end="",
    )
    print("".join(f"{phase:>9}" for phase in _PHASES))
    for name, run in runs.items():
        phases = "".join(f"{run.phases.get(phase, 0.0):9.2f}" for phase in _PHASES)
        speed = megabytes / run.seconds
        print(
            f"{name:12}{run.seconds:8.2f}{run.cpu:7.2f}{speed:7.2f}{run.megabytes:9.0f}"
            f"{run.embedded:9,}{run.seconds - run.inner:7.2f}{phases}"
        )


def edit(page: Path) -> None:
    """Change a word of the last prose paragraph."""
    text = page.read_text("utf-8")
    place = text.rindex(" the ")
    page.write_text(text[:place] + " this very " + text[place + 5 :], "utf-8")


def made_up(count: int) -> Iterator[Chunk]:
    chance = random.Random(1)
    words = [f"{chance.choice('bcdfghlmnprst')}{number:x}" for number in range(30_000)]
    weights = [1 / (place + 1) for place in range(len(words))]  # Zipf's law
    for number in range(count):
        drawn = iter(chance.choices(words, weights, k=300))
        texts = [" ".join(next(drawn) for _ in range(75)) for _ in range(4)]
        yield made_up_chunk(number, texts)


def made_up_chunk(number: int, texts: list[str]) -> Chunk:
    file, ids = f"docs/{number // 20}.md", [f"p-{number}-{part}" for part in range(len(texts))]
    path = ("Book", f"Chapter {number // 200}", f"Section {number // 20}")
    return Chunk(
        chunk_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"bench/{number}")),
        book=BookId("synthetic"),
        book_version="0" * 16,
        chunk_index=number % 20,
        file=file,
        position=number // 20,
        text_content="\n\n".join(texts),
        token_count=400,
        overlap_start=0,
        overlap_end=0,
        paragraph_ids=tuple(ids),
        content_type="paragraph",
        chapter=path[1],
        section=path[2],
        heading_path=path,
        spans=((0, 1_800),),
        deep_link_url=f"https://book/{file}",
        language="en",
        passages=tuple(
            Passage(name, BlockKind.PARAGRAPH, text, 0, len(text), f"https://book/{file}", path)
            for name, text in zip(ids, texts, strict=True)
        ),
    )


def vectors(count: int, dimension: int, chance: random.Random) -> list[Vector]:
    return [array("f", (chance.gauss(0, 1) for _ in range(dimension))) for _ in range(count)]


class Stopwatch:
    """Wall and CPU seconds (of all cores) by name; what is watched inside counts inside only."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._last = (time.perf_counter(), time.process_time())

    @contextmanager
    def watch(self, name: str) -> Iterator[None]:
        self._account()
        self._open.append(name)
        try:
            yield
        finally:
            self._account()
            self._open.pop()

    def _account(self) -> None:
        now = (time.perf_counter(), time.process_time())
        if self._open:
            self.wall[self._open[-1]] += now[0] - self._last[0]
            self.cpu[self._open[-1]] += now[1] - self._last[1]
        self._last = now


async def bench_synthetic(count: int, dimension: int, home: Path) -> None:
    stopwatch = Stopwatch()

    def watched(shard: EdgeShard, path: Path) -> EdgeShard:
        with stopwatch.watch("optimise"):
            return seal(shard, path)

    with patch("app.adapters.qdrant.edge_writer.seal", watched):
        published = await write_synthetic(count, dimension, home, stopwatch)
    tell(stopwatch, count, dimension)
    print(f"{published.size_bytes / 1e6:.0f} MB on disk, peak {peak():.0f} MB resident")


async def write_synthetic(
    count: int, dimension: int, home: Path, stopwatch: Stopwatch
) -> BookManifest:
    cache = SqliteEmbeddingCache(home / "embeddings.sqlite")
    writer = await EdgeIndex(home).begin(BookId("synthetic"), dimension)
    sparse, pool = Bm25Encoder(), vectors(500, dimension, random.Random(2))
    batch: list[Chunk] = []
    for number, chunk in enumerate(made_up(count), 1):
        batch.append(chunk)
        if len(batch) < WRITE_BATCH and number < count:
            continue
        texts = [one.embedding_text for one in batch]
        dense = [pool[(number + place) % len(pool)] for place in range(len(batch))]
        with stopwatch.watch("embed"):
            await cache.put("synthetic", dimension, texts, dense)
        with stopwatch.watch("encode"):
            found = await cache.get("synthetic", dimension, texts)
            points = [
                IndexPoint(one, vector, chunk_vector(one, sparse))
                for one, vector in zip(batch, found, strict=True)
                if vector is not None
            ]
        with stopwatch.watch("write"):
            await writer.write(points)
        batch = []
        if number * 10 // count > (number - WRITE_BATCH) * 10 // count:
            own, mapped = resident()
            print(f"{number:9,} chunks written, MB resident: {own:.0f} own, {mapped:.0f} mapped")
    with stopwatch.watch("publish"):
        return await writer.publish(manifest(count, dimension))


def tell(stopwatch: Stopwatch, count: int, dimension: int) -> None:
    names = {
        "embed": "vectors into the cache (all that is real of embedding)",
        "encode": "vectors from the cache, BM25 terms",
        "write": "into the engine",
        "optimise": "segments sealed",
        "publish": "checked and published",
    }
    for name, what in names.items():
        wall, cpu = stopwatch.wall[name], stopwatch.cpu[name]
        print(f"{name:9}{wall:7.1f} s, {cpu:6.1f} CPU s  {what}")
    wall, cpu = (
        sum(of[name] for name in ("encode", "write")) for of in (stopwatch.wall, stopwatch.cpu)
    )
    print(
        f"{count:,} x {dimension}: encoded and written at {count / wall:,.0f} chunks/s, "
        f"{count / cpu:,.0f} a CPU second"
    )


def manifest(chunks: int, dimension: int) -> BookManifest:
    return BookManifest(
        book=BookId("synthetic"),
        title="Synthetic",
        book_version="0" * 16,
        model="synthetic",
        dimension=dimension,
        strategy="structure",
        site="plain",
        base_url="",
        language="en",
        fingerprint="",
        chunks=chunks,
        tokens=400 * chunks,
        files=chunks // 20,
        created_at="2026-01-01T00:00:00+00:00",
    )


def resident() -> tuple[float, float]:
    """Megabytes of the process's own memory, and of its mapped files."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, *mapped = (int(status[name].split()[0]) for name in ("RssAnon", "RssFile", "RssShmem"))
    return own / 1024, sum(mapped) / 1024


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="*", type=Path)
    parser.add_argument("--synthetic", type=int, default=0, metavar="CHUNKS")
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--home", type=Path, help="where the temporary state lies")
    options = parser.parse_args()
    for book in options.books:
        with tempfile.TemporaryDirectory(dir=options.home) as home:
            bench_book(book, Path(home))
    if options.synthetic:
        with tempfile.TemporaryDirectory(dir=options.home) as home:
            asyncio.run(bench_synthetic(options.synthetic, options.dimension, Path(home)))


if __name__ == "__main__":
    main()
