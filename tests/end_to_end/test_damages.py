"""Any byte of any file of a book changed, cut or gone: no wrong answer, and no trouble for others.

`attacks/damages.jsonl` has a damage a line: its `name`, the `files` (a pattern below the book's
folder, whose generations are 1 and 2), the `damage` done to each (a key of `DAMAGES`) and the
`outcome` for the book: "same" answers, those of the "previous" generation (also if the last is as
before it was published: "unpublished"), "refused" or "gone".
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.qdrant.disk import copy_sparse
from app.adapters.qdrant.edge import EdgeIndex
from tests.attacking import examples, table
from tests.conftest import ROOT
from tests.index_points import points, publish, quick_folder

pytestmark = pytest.mark.attack

DAMAGED, OTHER = "alpha", "beta"
ASKED = """
import asyncio, gc, json, logging, sys
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
    told = json.dumps(asyncio.run(ask(line.strip())))
    gc.collect()  # closes the shards, before files that they have mapped are damaged
    print(told, flush=True)
"""

Told: TypeAlias = dict[str, Any]


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


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, written_size(path) // 2),
    "flip": lambda path: flip(path, written_size(path) // 3),
    "garbage": lambda path: path.write_bytes(b"\xff\x00{garbage"),
    "remove": remove,
    "append": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "folder": folder,
}


class Books:
    """Two books, of which one is damaged, and a process that opens the index for each question.

    The damaged book has two generations that answer differently. A signal would end the process.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "index" / DAMAGED
        index = EdgeIndex(home)
        for book, numbers in ((DAMAGED, range(12)), (DAMAGED, range(2, 20)), (OTHER, range(9))):
            asyncio.run(publish(index, book, points(book, numbers)))
        self.process = subprocess.Popen(
            [sys.executable, "-c", ASKED],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "RUST_BACKTRACE": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.whole = self.ask()
        self.before = self.told([self.folder / "000002"], remove)
        assert self.whole["damaged"] == {}
        assert self.before[DAMAGED] not in (self.whole[DAMAGED], "refused")

    def ask(self) -> Told:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{self.home}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the process ended by {self.process.wait()}"
        told: Told = json.loads(line)
        return told

    def told(self, paths: list[Path], damage: Callable[[Path], object]) -> Told:
        """Ask with damaged files or folders; put back what was there."""
        kept = [path.with_name(f"{path.name}~kept") for path in paths]
        for path, copy in zip(paths, kept, strict=True):
            if path.is_dir():
                shutil.copytree(path, copy, copy_function=copy_sparse)
            else:
                copy_sparse(path, copy)
            damage(path)
        try:
            return self.ask()
        finally:
            for path, copy in zip(paths, kept, strict=True):
                if path.exists():
                    remove(path)
                copy.rename(path)

    def outcome(self, told: Told) -> str:
        """Of the damaged book; anything else that was told must fit it."""
        assert told[OTHER] == self.whole[OTHER]
        if told[DAMAGED] == self.whole[DAMAGED]:
            assert (told["all"], told["damaged"]) == (self.whole["all"], {})
            return "same"
        if told[DAMAGED] == self.before[DAMAGED]:
            assert told["all"] == self.before["all"]
            assert told["damaged"] in ({}, {DAMAGED: True})
            return "previous" if told["damaged"] else "unpublished"
        assert told["all"] == self.whole[OTHER]
        assert told["damaged"] == ({DAMAGED: False} if told[DAMAGED] == "refused" else {})
        return str(told[DAMAGED])


@pytest.fixture(scope="module")
def books() -> Iterator[Books]:
    with quick_folder() as home:
        made = Books(home)
        yield made
        made.process.kill()
        made.process.communicate()


@pytest.mark.parametrize("case", table("damages"), ids=lambda case: case["name"])
def test_a_known_damage(books: Books, case: dict[str, str]) -> None:
    paths = sorted(books.folder.glob(case["files"]))
    assert paths
    assert books.outcome(books.told(paths, DAMAGES[case["damage"]])) == case["outcome"]


@settings(max_examples=examples(20))
@given(
    place=st.integers(min_value=0, max_value=10_000),
    how=st.sampled_from(["flip", "cut", "flip in a hole", "remove"]),
    where=st.floats(min_value=0, max_value=1, exclude_max=True),
)
@example(place=0, how="flip", where=0.0)
def test_any_byte_changed_cut_or_gone(books: Books, place: int, how: str, where: float) -> None:
    files = sorted(path for path in books.folder.rglob("*") if path.is_file())
    path = files[place % len(files)]
    size, written = path.stat().st_size, written_size(path)

    def damage(path: Path) -> None:
        if how == "remove":
            remove(path)
        elif how == "cut":
            os.truncate(path, int(where * size))
        elif size:
            flip(path, int(where * (size if "hole" in how else written or size)))

    outcome = books.outcome(books.told([path], damage))
    # Without its manifest, a generation is as it is before its ingest has ended.
    gone = path.suffix == ".manifest" and how == "remove"
    assert outcome in ({"same", "unpublished"} if gone else {"same", "previous", "refused"})
