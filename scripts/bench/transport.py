"""Searches of a Qdrant server through our index adapter, by transport and number of readers.

    python scripts/bench/transport.py --url http://127.0.0.1:6333 [--grpc-port 6334] [--seconds 5]

Writes a synthetic book of 10,000 chunks of 256 dimensions under its own prefix, and deletes it.
HTTP/2 is not measured: without TLS, Qdrant closes a connection that begins with it. Each reader
asks one question after the other, hybrid, 50 results per list. Prints the table as JSON lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import secrets
import time
from array import array
from collections.abc import Callable, Sequence

import httpx
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, SparseVector, Vector
from tests.index_points import manifest, points

BOOK = BookId("transport")
READERS = (1, 8, 32)
ONE = SearchFilter(books=(BOOK,))
Query = tuple[Vector, SparseVector]


def queries(dimension: int, count: int = 500) -> list[Query]:
    chance = random.Random(1)
    made = []
    for _ in range(count):
        indices = sorted(chance.sample(range(1, 40), 6))
        dense = array("f", [chance.gauss(0, 1) for _ in range(dimension)])
        made.append(
            (dense, SparseVector(tuple(i * 107_374_182 for i in indices), (1.0,) * len(indices)))
        )
    return made


async def write(index: ServerIndex, chunks: int, dimension: int) -> None:
    chance = random.Random(2)
    writer = await index.begin(BOOK, dimension)
    for start in range(0, chunks, 1_000):
        made = points(BOOK, range(start, min(chunks, start + 1_000)))
        for one in made:
            one.dense[:] = array("f", [chance.gauss(0, 1) for _ in range(dimension)])
        await writer.write(made)
    await writer.publish(manifest(BOOK, chunks, dimension))


async def measure(
    index: ServerIndex, asked: Sequence[Query], readers: int, seconds: float
) -> dict[str, float]:
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def read(first: int) -> None:
        number = first
        while (started := time.perf_counter()) < end:
            await index.search(*asked[number % len(asked)], 50, ONE)
            taken.append(time.perf_counter() - started)
            number += 1

    cpu = time.process_time()
    await asyncio.gather(*(read(17 * number) for number in range(readers)))
    cpu = time.process_time() - cpu
    taken.sort()
    return {
        "searches_per_second": round(len(taken) / seconds),
        "p50_ms": round(1e3 * taken[len(taken) // 2], 2),
        "p95_ms": round(1e3 * taken[int(0.95 * len(taken))], 2),
        "client_cpu_ms": round(1e3 * cpu / len(taken), 2),
    }


async def run(arguments: argparse.Namespace) -> None:
    kept = httpx.Limits(max_keepalive_connections=100)
    transports: dict[str, Callable[[], AsyncQdrantClient]] = {
        "HTTP, kept connections": lambda: AsyncQdrantClient(
            url=arguments.url, api_key=arguments.key, check_compatibility=False, limits=kept
        ),
        "HTTP, new connections": lambda: server_client(arguments.url, arguments.key, grpc=False),
        "gRPC": lambda: server_client(arguments.url, arguments.key, grpc_port=arguments.grpc_port),
    }
    prefix = f"bench-{secrets.token_hex(4)}"
    writer = transports["gRPC"]()
    try:
        await write(
            ServerIndex(writer, prefix, arguments.url), arguments.chunks, arguments.dimension
        )
        asked = queries(arguments.dimension)
        for _ in range(arguments.rounds):
            for name, connect in transports.items():
                client = connect()
                index = ServerIndex(client, prefix, arguments.url)
                await measure(index, asked, 4, 1.0)
                for readers in READERS:
                    row = await measure(index, asked, readers, arguments.seconds)
                    print(json.dumps({"transport": name, "readers": readers, **row}), flush=True)
                await client.close()
    finally:
        for one in (await writer.get_collections()).collections:
            if one.name.startswith(f"{prefix}~"):
                await writer.delete_collection(one.name)
        await writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key")
    parser.add_argument("--grpc-port", type=int)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=2)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
