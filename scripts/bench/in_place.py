"""A small change applied to a copy of the previous generation, compared with a new generation.

    python scripts/bench/in_place.py [--chunks 20000] [--home FOLDER]

Of the chunks, 100 are deleted, 60 are added and all get another `book_version`. For each method:
CPU seconds in the engine, and how many of 100 BM25 rankings differ from those of a new index.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import qdrant_edge as edge

sys.path.insert(0, str(Path(__file__).parent))

from ingest import made_up, vectors

from app.adapters.bm25 import Bm25Encoder
from app.adapters.qdrant.edge_shard import (
    SEGMENT,
    create_shard,
    seal,
    search_shard,
    upsert,
)
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, SparseVector
from app.services.ports import IndexPoint

DIMENSION = 256
GONE, NEW, QUERIES = 100, 60, 100
ENCODER = Bm25Encoder()


def made_up_points(count: int) -> list[IndexPoint]:
    pool = vectors(200, DIMENSION, random.Random(2))
    return [
        IndexPoint(chunk, pool[number % 200], ENCODER.encode_document(chunk.lexical_text, "en"))
        for number, chunk in enumerate(made_up(count))
    ]


def write(path: Path, points: Sequence[IndexPoint]) -> edge.EdgeShard:
    shard, unsealed = create_shard(path, DIMENSION), 0
    for start in range(0, len(points), 256):
        batch = points[start : start + 256]
        upsert(shard, batch)
        unsealed += len(batch)
        if unsealed >= SEGMENT:
            shard, unsealed = seal(shard, path), 0
    shard.flush()
    return shard


def change(shard: edge.EdgeShard, gone: Sequence[IndexPoint], new: Sequence[IndexPoint]) -> None:
    shard.update(edge.UpdateOperation.delete_points([point.chunk.chunk_id for point in gone]))
    upsert(shard, new)
    records, _ = shard.scroll(edge.ScrollRequest(limit=10**9))
    kept = [record.id for record in records]
    for start in range(0, len(kept), 1_000):
        page = kept[start : start + 1_000]
        shard.update(edge.UpdateOperation.set_payload(page, {"book_version": "1" * 16}))
    shard.flush()


def rankings(shard: edge.EdgeShard, queries: Sequence[SparseVector]) -> list[list[float]]:
    book, every = BookId("book"), SearchFilter()
    found = [search_shard(shard, book, None, query, 10, every).sparse for query in queries]
    return [[round(hit.score, 4) for hit in hits] for hits in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--home", type=Path, help="where the temporary state lies")
    options = parser.parse_args()
    chance = random.Random(3)
    made = made_up_points(options.chunks + NEW)
    old, new = made[:-NEW], made[-NEW:]
    gone = chance.sample(old, GONE)
    lost = {point.chunk.chunk_id for point in gone}
    after = [
        replace(point, chunk=replace(point.chunk, book_version="1" * 16))
        for point in made
        if point.chunk.chunk_id not in lost
    ]
    queries = [
        ENCODER.encode_query(" ".join(chance.sample(point.chunk.text_content.split(), 6)), "en")
        for point in chance.sample(after, QUERIES)
    ]
    with tempfile.TemporaryDirectory(dir=options.home) as folder:
        home = Path(folder)
        started = time.process_time()
        clean = write(home / "clean", after)
        print(f"the whole generation anew {time.process_time() - started:6.1f} CPU s")
        expected = rankings(clean, queries)
        write(home / "last", old).close()
        started = time.process_time()
        shutil.copytree(home / "last", home / "copy")
        copy = edge.EdgeShard.load(str(home / "copy"))
        change(copy, gone, new)
        spent = time.process_time() - started
        differ = sum(a != b for a, b in zip(rankings(copy, queries), expected, strict=True))
        print(f"a copy, changed           {spent:6.1f} CPU s, {differ} of {QUERIES} scores differ")


if __name__ == "__main__":
    main()
