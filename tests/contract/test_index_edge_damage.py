"""The embedded store with damaged files: what answers, what is named, what mends it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.adapters.qdrant.edge import EdgeIndex
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from tests.index_points import ids, points, publish
from tests.index_processes import Clock, book_entries, in_process, output
from tests.index_stores import found


def cut(path: Path, to: int = 0) -> None:
    with path.open("r+b") as file:
        file.truncate(to)


def the(pattern: str, home: Path, generation: int = 2) -> Path:
    (path,) = (home / "index" / "book" / f"{generation:06d}").rglob(pattern)
    return path


async def test_opening_and_searching_changes_no_byte_of_a_generation(home: Path) -> None:
    await publish(EdgeIndex(home), "book", points("book", range(150)))
    for _ in range(2):
        assert len(await found(EdgeIndex(home))) == 150
        assert await EdgeIndex(home).faults(BookId("book")) == []


async def test_a_running_reader_goes_on_with_what_it_has_open(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    reader, writer = EdgeIndex(home, clock), EdgeIndex(home)
    await publish(writer, "book", points("book", [1]))
    assert await found(reader) == ids(1)
    await publish(writer, "book", points("book", [2]))
    the("manifest", home).unlink()
    clock.now = 1.0
    assert await found(reader) == ids(1)
    (home / "index" / "book" / "current").write_text("garbage")
    clock.now = 2.0
    assert await found(reader) == ids(1)
    assert caplog.messages == ["index.generation_damaged"] * 2
    assert (await reader.damaged())[BookId("book")].answers
    await reader.check()
    # The generation whose manifest is gone is not kept to go back to.
    assert (await publish(writer, "book", points("book", [3]))).generation == 3
    assert book_entries(home) == ["000001", "000003", "current", "lock"]
    clock.now = 3.0
    assert await found(reader) == ids(3)
    assert await reader.damaged() == {}


def test_a_file_that_is_cut_while_it_is_mapped_is_let_go_of(home: Path) -> None:
    """Searching it, and closing it too, would kill the process."""
    files = ["page_0.dat", "tracker.dat", "status.dat", "chunk_0.mmap"]
    body = f"""
        async def find(book):
            alone = SearchFilter(books=(book,))
            return len((await index.search(vector(*[1.0] * DIMENSION), None, 9, alone)).dense)
        for book, file in enumerate({files}):
            book = f"book{{book}}"
            await publish(index, book, points(book, [1]))
            await publish(index, book, points(book, [1, 2]))
            found = [await find(book)]
            for path in Path({str(home)!r}).glob(f"index/{{book}}/000002/shard/**/{{file}}"):
                os.truncate(path, 0)
            clock[0] += 1
            print(*found, await find(book), book in await index.damaged())
    """
    process = in_process(home, body)
    assert output(process) == "2 1 True\n" * len(files)
    assert process.returncode == 0


async def test_a_book_that_is_whole_again_is_taken_up_half_a_minute_later(home: Path) -> None:
    clock = Clock()
    reader = EdgeIndex(home, clock)
    await publish(EdgeIndex(home), "book", points("book", [1]))
    damaged = the("*.versions", home, 1)
    content = damaged.read_bytes()
    cut(damaged)
    with pytest.raises(StorageError):
        await found(reader)
    damaged.write_bytes(content)
    clock.now = 29.0
    with pytest.raises(StorageError):
        await found(reader)
    clock.now = 31.0
    assert await found(reader) == ids(1)
    assert await reader.damaged() == {}


def test_a_copy_that_fills_the_holes_of_files_is_the_same_index(home: Path) -> None:
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    vectors = the("chunk_0.mmap", home, 1)
    taken = vectors.stat().st_blocks
    vectors.write_bytes(vectors.read_bytes())
    assert vectors.stat().st_blocks > 10 * taken
    assert asyncio.run(EdgeIndex(home).faults(BookId("book"))) == []
    assert asyncio.run(found(EdgeIndex(home))) == ids(1)
