"""Damage to the files of a stored book, and a process that asks for what is left of it.

`attacks/damages.jsonl` has a damage a line: its `name`, the `files` (a pattern below the book's
folder, whose generations are 1 and 2), the `damage` done to each (a key of `DAMAGES`) and the
`outcome` for the book: "same" answers, those of the "previous" generation, "refused" or "gone".
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from app.adapters.qdrant.disk import copy_sparse
from app.adapters.qdrant.edge import EdgeIndex
from tests.attacking import table
from tests.conftest import ROOT
from tests.index_points import points, publish

DAMAGED, OTHER = "alpha", "beta"
ASKED = """
import asyncio, json, logging, sys
from pathlib import Path
from app.adapters.qdrant.edge import EdgeIndex
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.domain.retrieval.query import SearchFilter, SparseVector
from tests.index_points import DIMENSION, points, vector

logging.disable()
(sample,) = points("alpha", [3])

async def answers(index, *books):
    only = SearchFilter(books=tuple(map(BookId, books)))
    found = await index.search(sample.dense, sample.sparse, 5, only)
    rows = [[hit.book, hit.chunk_id, round(hit.score, 5)] for hit in found.dense + found.sparse]
    chunks = [repr(chunk) for chunk in await index.matching(only)]
    for hit in found.dense:
        (chunk,) = await index.fetch({hit.book: [hit.chunk_id]})
        assert repr(chunk) in chunks
    return [rows, chunks, await index.best_scores(sample.sparse.indices, only.books)]

async def ask(home):
    index, told = EdgeIndex(Path(home)), {}
    for name, books in (("alpha", ["alpha"]), ("beta", ["beta"]), ("all", [])):
        try:
            told[name] = await answers(index, *books)
        except StorageError:
            told[name] = "refused"
        except BookNotFound:
            told[name] = "gone"
    told["damaged"] = {book: one.answers for book, one in (await index.damaged()).items()}
    return told

for line in sys.stdin:
    print(json.dumps(asyncio.run(ask(line.strip()))), flush=True)
"""

Told: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Damage:
    name: str
    files: str
    damage: str
    outcome: str
    """Of the book: "same", "previous" generation, "refused", or "gone": not published."""


def named_damages() -> list[Damage]:
    return [Damage(**line) for line in table("damages")]


def written_size(path: Path) -> int:
    """Bytes up to the hole in which most files end."""
    status = path.stat()
    return min(status.st_size, status.st_blocks * 512)


def flip(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 1]))


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, written_size(path) // 2),
    "flip": lambda path: flip(path, written_size(path) // 3),
    "garbage": lambda path: path.write_bytes(b"\xff\x00{garbage"),
    "remove": remove,
    "append": append,
    "folder": folder,
}


def make_books(home: Path) -> None:
    """Two books; the one that is damaged has two generations that answer differently."""

    async def make() -> None:
        index = EdgeIndex(home)
        await publish(index, DAMAGED, points(DAMAGED, range(12)))
        await publish(index, DAMAGED, points(DAMAGED, range(2, 20)))
        await publish(index, OTHER, points(OTHER, range(9)))

    asyncio.run(make())


@contextmanager
def damaged(paths: Sequence[Path], damage: Callable[[Path], object]) -> Iterator[None]:
    """Damage files or folders; put back what was there."""
    kept = [path.with_name(f"{path.name}~kept") for path in paths]
    for path, copy in zip(paths, kept, strict=True):
        if path.is_dir():
            shutil.copytree(path, copy, copy_function=copy_sparse)
        else:
            copy_sparse(path, copy)
        damage(path)
    try:
        yield
    finally:
        for path, copy in zip(paths, kept, strict=True):
            if path.exists():
                remove(path)
            copy.rename(path)


class Asker:
    """A process that opens the index anew for each question; a signal would end it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process = subprocess.Popen(
            [sys.executable, "-c", ASKED],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "RUST_BACKTRACE": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self) -> Told:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{self._home}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the process ended by {self._process.wait()}"
        told: Told = json.loads(line)
        return told

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
