"""Searches and ingests on three Qdrant nodes while nodes are killed and restarted.

    scripts/bench/cluster.py --binary PATH

Starts three nodes on this machine, with their data in a temporary folder. In each round, in a
seeded order, one node is killed with -9 and comes back, and another is restarted. Searches run all
the time, a new generation of one book is ingested, and every point of every book is read back at
the end of the round.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.domain.book_id import BookId
from app.domain.errors import RagError
from app.domain.indexed_book import IndexPoint
from app.domain.retrieval.query import SearchFilter
from app.services.ports import BookStore
from tests.index_points import DIMENSION, manifest, points, publish, random_sparse, random_vector
from tests.qdrant_process import BINARY, QdrantNode, free_urls, port_of

BOOKS, CHUNKS = 4, 300
LIMIT = 10


@dataclass(slots=True)
class Figures:
    """Counts over all rounds."""

    rounds: int = 0
    searches: int = 0
    failed: int = 0
    wrong: int = 0
    empty: int = 0
    published: int = 0
    refused: int = 0
    half: int = 0
    points_read: int = 0
    points_wrong: int = 0
    milliseconds: list[float] = field(default_factory=list, repr=False)
    notes: list[str] = field(default_factory=list, repr=False)

    def note(self, text: str) -> None:
        self.notes.append(f"round {self.rounds + 1}: {text}")
        print(self.notes[-1], file=sys.stderr, flush=True)


@dataclass(slots=True)
class Library:
    """The served books with their expected content: each book's version, by chunk."""

    version: dict[str, int]
    writing: set[str] = field(default_factory=set)
    """Books that are being ingested, or whose ingest failed: such a write may still reach the
    nodes, so the next version is accepted too."""
    published: str = ""
    """The book published in this round."""

    def expected(self, book: str) -> set[str]:
        shown = {f"v{self.version[book]}"}
        return shown | {f"v{self.version[book] + 1}"} if book in self.writing else shown


def book_points(book: str, version: int) -> list[IndexPoint]:
    """The same ids with other vectors in each version: a point read back shows its version."""
    return points(book, range(CHUNKS), version=f"v{version}")


async def search_loop(
    index: BookStore, library: Library, figures: Figures, source: random.Random, stop: asyncio.Event
) -> None:
    while not stop.is_set():
        book = source.choice(sorted(library.version))
        allowed = library.expected(book)
        started = time.perf_counter()
        figures.searches += 1
        try:
            found = await index.search(
                random_vector(source),
                random_sparse(source),
                LIMIT,
                SearchFilter(books=(BookId(book),)),
            )
            ids = [hit.chunk_id for hit in found.dense]
            chunks = await index.fetch({BookId(book): ids})
        except RagError as error:
            figures.failed += 1
            figures.note(f"search: {error}")
            continue
        took = 1_000 * (time.perf_counter() - started)
        figures.milliseconds.append(took)
        allowed |= library.expected(book)  # published while it was searched
        versions = {chunk.book_version for chunk in chunks}
        if not ids or not chunks:
            figures.empty += 1
            figures.note(f"search in {book}: {len(ids)} ids, {len(chunks)} chunks")
        elif len(ids) < LIMIT or len(chunks) != len(ids) or not versions <= allowed:
            figures.wrong += 1
            figures.note(
                f"search in {book}: {len(ids)} ids, {len(chunks)} chunks, {versions} of {allowed}"
            )
        await asyncio.sleep(0.01)


async def ingest(index: BookStore, library: Library, figures: Figures, book: str) -> None:
    """Ingest a new version of one book; it is published or refused."""
    library.writing.add(book)
    made = book_points(book, library.version[book] + 1)
    try:
        writer = await index.begin(BookId(book), DIMENSION)
        try:
            for start in range(0, CHUNKS, 20):
                await writer.write(made[start : start + 20])
                await asyncio.sleep(0.2)
            await writer.publish(manifest(book, CHUNKS))
        finally:
            await writer.abandon()
    except RagError as error:
        figures.refused += 1
        figures.note(f"ingest refused: {error}")
    else:
        figures.published += 1
        library.published = book


async def read_back(index: BookStore, library: Library, figures: Figures) -> None:
    """Check that all points of a book are of one version; for the written book, old or new."""
    for book in sorted(library.version):
        pages = (await index.snapshot(BookId(book))).pages
        read = [point async for page in pages for point in page]
        versions = {point.chunk.book_version for point in read}
        figures.points_read += len(read)
        if len(versions) != 1 or len(read) != CHUNKS or not versions <= library.expected(book):
            figures.half += book in library.writing
            figures.points_wrong += abs(CHUNKS - len(read)) or CHUNKS
            figures.note(f"{book}: {len(read)} points of {versions}")
            continue
        version = int(versions.pop().removeprefix("v"))
        right = {point.chunk.chunk_id: point for point in book_points(book, version)}
        wrong = [one for one in read if one.chunk != right[one.chunk.chunk_id].chunk]
        wrong += [
            one for one in read if one.sparse.indices != right[one.chunk.chunk_id].sparse.indices
        ]
        figures.points_wrong += len(wrong)
        if version > library.version[book]:
            if book != library.published:
                figures.note(f"{book}: published after the ingest ended with an error")
            library.writing.remove(book)
        library.version[book] = version
    library.published = ""


def start_cluster(binary: str, urls: list[str], folder: Path) -> list[QdrantNode]:
    """Nodes at these URLs, all ready; stop each at the end. The third port is for each other."""
    peers = [f"http://127.0.0.1:{port_of(url) + 2}" for url in urls]
    nodes = []
    for number, (url, peer) in enumerate(zip(urls, peers, strict=True)):
        settings = {
            "QDRANT__CLUSTER__ENABLED": "true",
            "QDRANT__CLUSTER__P2P__PORT": str(port_of(url) + 2),
        }
        arguments = ["--uri", peer, *(["--bootstrap", peers[0]] if number else [])]
        nodes.append(QdrantNode(binary, url, folder / f"node-{number}", settings, arguments))
    try:
        for node in nodes:
            node.start()
            node.wait("/healthz")
        for node in nodes:
            node.wait()
    except BaseException:
        for node in nodes:
            node.stop(signal.SIGKILL)
        raise
    return nodes


def is_whole(node: QdrantNode) -> bool:
    """Whether every copy of every shard is active, as this node sees it."""

    def get(path: str) -> dict[str, Any]:
        result: dict[str, Any] = httpx.get(node.url + path, timeout=2).json()["result"]
        return result

    try:
        names = [one["name"] for one in get("/collections")["collections"]]
        shards = [get(f"/collections/{name}/cluster") for name in names]
    except httpx.HTTPError:
        return False
    return all(
        one["state"] == "Active"
        for found in shards
        for one in found["local_shards"] + found["remote_shards"]
    ) and not any(found["shard_transfers"] for found in shards)


async def wait_ready(nodes: list[QdrantNode]) -> None:
    """Wait until every replica is active again: two replicas tolerate only one loss."""
    end = time.monotonic() + 120
    for node in nodes:
        await asyncio.to_thread(node.wait)
    for _ in range(2):  # a copy can be set aside shortly after its node is ready
        await asyncio.sleep(0.5)
        while not all([await asyncio.to_thread(is_whole, node) for node in nodes]):
            if time.monotonic() > end:
                raise TimeoutError("not every copy is active after two minutes")
            await asyncio.sleep(0.1)


async def fault_round(nodes: list[QdrantNode], source: random.Random) -> str:
    """Kill one node, restart it, and restart another; order and pauses are random."""
    killed, other = source.sample(nodes, 2)

    async def kill() -> None:
        await asyncio.to_thread(killed.stop, signal.SIGKILL)
        await asyncio.sleep(source.uniform(0.0, 3.0))
        killed.start()
        await wait_ready(nodes)

    async def restart() -> None:
        await asyncio.to_thread(other.stop)
        other.start()
        await wait_ready(nodes)

    order = [kill, restart]
    source.shuffle(order)
    for fault in order:
        await asyncio.sleep(source.uniform(0.0, 1.0))
        await fault()
    names = [fault.__name__ for fault in order]
    return f"{' then '.join(names)}, killed {killed.url}, restarted {other.url}"


async def rounds(urls: list[str], nodes: list[QdrantNode], options: argparse.Namespace) -> Figures:
    source, figures = random.Random(options.seed), Figures()
    url = ",".join(urls)
    clients = [server_client(url, None) for _ in range(2)]
    try:
        reader, writer = (ServerIndex(client, "bench", url, replicas=2) for client in clients)
        library = Library({f"book-{number}": 1 for number in range(BOOKS)})
        for book in library.version:
            await publish(writer, book, book_points(book, 1))
        for _ in range(options.rounds):
            stop = asyncio.Event()
            searching = [
                asyncio.create_task(
                    search_loop(reader, library, figures, random.Random(source.random()), stop)
                )
                for _ in range(2)
            ]
            book = source.choice(sorted(library.version))
            ingesting = asyncio.create_task(ingest(writer, library, figures, book))
            order = await fault_round(nodes, source)
            await ingesting
            await asyncio.sleep(1.0)
            stop.set()
            await asyncio.gather(*searching)
            await read_back(writer, library, figures)
            figures.rounds += 1
            print(f"round {figures.rounds}: {order}; {figures}", file=sys.stderr, flush=True)
    finally:
        for client in clients:
            await client.close()
    return figures


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--binary", default=BINARY, help="the qdrant program (QDRANT_TEST_BINARY)")
    made.add_argument("--rounds", type=int, default=20)
    made.add_argument("--seed", type=int, default=1)
    return made


def main() -> int:
    options = parser().parse_args()
    if not options.binary:
        print("--binary or QDRANT_TEST_BINARY must name the qdrant program", file=sys.stderr)
        return 2
    urls = free_urls(3)
    with tempfile.TemporaryDirectory() as folder:
        nodes = start_cluster(options.binary, urls, Path(folder))
        try:
            figures = asyncio.run(rounds(urls, nodes, options))
        finally:
            for node in nodes:
                node.stop(signal.SIGKILL)
    took = sorted(figures.milliseconds)
    summary = asdict(figures) | {
        "milliseconds": {
            "p50": round(took[len(took) // 2], 1),
            "p99": round(took[int(0.99 * len(took))], 1),
            "max": round(took[-1], 1),
        }
    }
    print(json.dumps(summary, indent=1))
    bad = figures.failed + figures.wrong + figures.empty + figures.half + figures.points_wrong
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
