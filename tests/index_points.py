"""Chunks and points made up for the index tests."""

import random
import shutil
import tempfile
import uuid
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.retrieval.query import SparseVector, Vector
from app.services.ports import BookStore
from tests.made_chunks import made_chunk, made_manifest, made_passage

DIMENSION = 8
KINDS = ("paragraph", "code", "table")


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is room: a build syncs some hundred files to the disk."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**30
    with tempfile.TemporaryDirectory(dir=memory if roomy else None) as folder:
        yield Path(folder)


def chunk_id(book: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{book}/{number}"))


def ids(*numbers: int) -> set[str]:
    """The ids of these chunks of the book "book"."""
    return {chunk_id("book", number) for number in numbers}


def passage(paragraph_id: str, text: str, start: int = 0) -> Passage:
    return made_passage(
        text,
        paragraph_id,
        start=start,
        heading_path=("Chapter", "Section"),
        terms=("term",),
        offset=start,
    )


def chunk(book: str, number: int, passages: Sequence[Passage] = (), version: str = "v1") -> Chunk:
    """The chunk of this number; number decides the fields that filters look at."""
    kind = BlockKind(KINDS[number % len(KINDS)])
    only = passage(f"p-{book}-{number}", f"text {number} of {book}")
    return made_chunk(
        *(tuple(passages) or (replace(only, kind=kind),)),
        chunk_id=chunk_id(book, number),
        book=BookId(book),
        book_version=version,
        chunk_index=number,
        file=f"docs/{number % 5}.md",
        position=number % 5,
        overlap_end=1,
        content_type=kind.value,
        chapter=f"Chapter {number % 4}",
        spans=((0, 7), (9, 12)),
        deep_link_url=f"https://book/docs/{number % 5}.html#:~:text=text",
        language="en" if number % 2 else "es",
        chapter_number=number % 4,
    )


def vector(*values: float) -> Vector:
    return array("f", values)


def random_vector(source: random.Random) -> Vector:
    return array("f", [source.gauss(0, 1) for _ in range(DIMENSION)])


def random_sparse(source: random.Random) -> SparseVector:
    # Spread over all unsigned 32-bit ids, as hashes are.
    indices = sorted(source.sample([i * 107_374_182 for i in range(40)], 6))
    return SparseVector(tuple(indices), tuple(source.uniform(0.2, 2.2) for _ in indices))


def points(book: str, numbers: Sequence[int], version: str = "v1") -> list[IndexPoint]:
    made = []
    for number in numbers:
        source = random.Random(f"{book}/{number}")
        made.append(
            IndexPoint(
                chunk(book, number, version=version), random_vector(source), random_sparse(source)
            )
        )
    return made


def manifest(book: str, chunks: int, dimension: int = DIMENSION) -> BookManifest:
    sizes = {"chunks": chunks, "tokens": 4 * chunks, "files": 5, "dimension": dimension}
    return made_manifest(
        book, title=f"The book {book}", base_url="https://book", model="test-model", **sizes
    )


async def stored(index: BookStore, book: str = "book") -> list[IndexPoint]:
    """The points of the book's current generation."""
    return [point async for page in (await index.snapshot(BookId(book))).pages for point in page]


async def publish(index: BookStore, book: str, made: Sequence[IndexPoint]) -> BookManifest:
    dimension = len(made[0].dense)
    writer = await index.begin(BookId(book), dimension)
    for start in range(0, len(made), 100):
        await writer.write(made[start : start + 100])
    return await writer.publish(manifest(book, len(made), dimension))
