"""The embedded store: generations on disk, several processes, crashes, damage, full disks."""

import asyncio
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from qdrant_edge import EdgeShard

from app.adapters.book_pages import BookPages
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.edge_folder import BookFolder
from app.adapters.qdrant.edge_generation import load_shard
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.bootstrap.backups import Stores
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexBusy, StorageError
from tests.conftest import ROOT
from tests.index_points import DIMENSION, chunk_id, ids, points, publish, quick_folder
from tests.index_stores import found
from tests.provider_fakes import InstantClock


def in_process(home: Path, body: str) -> subprocess.Popen[str]:
    """Run the body of an async function in a process of its own; `index` is at hand."""
    script = f"""
import asyncio, concurrent.futures.thread, os, resource, sys
from pathlib import Path
from app.adapters.qdrant.edge import EdgeIndex
from app.domain.errors import RagError
from app.domain.retrieval.query import SearchFilter
from tests.index_points import DIMENSION, manifest, points, publish, vector

clock = [0.0]

async def main():
    index = EdgeIndex(Path({str(home)!r}), lambda: clock[0])
{textwrap.indent(textwrap.dedent(body), "    ")}

try:
    asyncio.run(main())
except RagError as error:
    print(type(error).__name__, error)
"""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=60)[0]


def book_entries(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "index" / "book").iterdir())


def entries(*generations: str) -> list[str]:
    """What is in the folder of a book with these generations."""
    return sorted(["lock", *generations, *(f"{one}.manifest" for one in generations)])


@pytest.fixture
def copies() -> Iterator[Path]:
    """A folder in which any user may make copies."""
    with quick_folder() as folder:
        folder.chmod(0o777)
        yield folder


async def test_a_running_reader_takes_up_a_new_generation_half_a_second_later(home: Path) -> None:
    clock = InstantClock()
    reader, writer = EdgeIndex(home, clock.now), EdgeIndex(home)
    await publish(writer, "book", points("book", [1]))
    assert await found(reader) == ids(1)
    await publish(writer, "book", points("book", [2, 3]))
    clock.time = 0.4
    assert await found(reader) == ids(1)
    clock.time = 0.6
    assert await found(reader) == ids(2, 3)
    await writer.rollback(BookId("book"))
    clock.time = 1.2
    assert await found(reader) == ids(1)


async def test_questions_that_come_at_once_after_the_start_all_see_the_books(home: Path) -> None:
    await publish(EdgeIndex(home), "book", points("book", range(4)))
    index = EdgeIndex(home)
    listed = await asyncio.gather(*(index.books() for _ in range(16)))
    assert {tuple(one) for one in listed} == {("book",)}


def test_a_killed_writer_leaves_the_old_generation_and_no_lock(home: Path) -> None:
    index = EdgeIndex(home)
    asyncio.run(publish(index, "book", points("book", [1])))
    process = in_process(
        home,
        """
        writer = await index.begin("book", DIMENSION)
        await writer.write(points("book", range(50)))
        print("written", flush=True)
        sys.stdin.read()
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    with pytest.raises(IndexBusy, match=rf"process {process.pid}, started 20.*Z"):
        asyncio.run(index.begin(BookId("book"), DIMENSION))
    process.send_signal(signal.SIGKILL)
    output(process)
    assert "000002" in book_entries(home)
    assert asyncio.run(found(index)) == ids(1)
    assert asyncio.run(publish(index, "book", points("book", [2]))).generation == 3
    assert asyncio.run(found(index)) == ids(2)
    assert book_entries(home) == ["000001", "000001.manifest", "000002.manifest", "000003", "lock"]


def test_a_read_only_home_is_searched_in_a_copy_and_written_never(home: Path, copies: Path) -> None:
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    home.chmod(0o755)
    # Only root may become another user; for anyone else, removed write permission is enough.
    body = f"""
        import tempfile
        for path in [home := Path({str(home)!r}), *home.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)
        if os.geteuid() == 0:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        for book in ("book", "other"):
            try:
                await index.begin(book, DIMENSION)
            except RagError as error:
                print(type(error).__name__, error)
        tempfile.tempdir = {str(copies)!r}
        print((await index.search(vector(*[1.0] * 8), None, 1, SearchFilter())).dense)
        print(len(os.listdir(tempfile.tempdir)))
    """
    try:
        *refused, hits, made = output(in_process(home, body)).splitlines()
    finally:
        for path in [home, *home.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o700)
    assert [line.startswith("StorageError ") for line in refused] == [True, True]
    assert all("ermission denied" in line for line in refused)
    assert chunk_id("book", 1) in hits
    assert (int(made), list(copies.iterdir())) == (1, [])
    assert asyncio.run(found(EdgeIndex(home))) == ids(1)


def test_a_book_that_is_removed_before_it_is_locked_is_not_removed_twice_and_comes_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_first(folder: BookFolder) -> IO[str]:
        monkeypatch.undo()
        asyncio.run(EdgeIndex(home).remove(book))
        return folder.lock()

    index, book = EdgeIndex(home), BookId("book")
    asyncio.run(publish(index, book, points(book, [1])))
    monkeypatch.setattr(BookFolder, "lock", remove_first)
    with pytest.raises(BookNotFound):
        asyncio.run(index.remove(book))
    asyncio.run(publish(index, book, points(book, [2])))
    assert asyncio.run(found(index)) == ids(2)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let something happen once, right after the published generations are listed."""
    kept = BookFolder.kept

    def happens(action: Callable[[], None]) -> None:
        def kept_before(folder: BookFolder) -> list[int]:
            monkeypatch.setattr(BookFolder, "kept", kept)
            numbers = folder.kept()
            action()
            return numbers

        monkeypatch.setattr(BookFolder, "kept", kept_before)

    return happens


def write(home: Path, *texts: int) -> None:
    for text in texts:
        asyncio.run(publish(EdgeIndex(home), "book", points("book", [text])))


def test_a_generation_that_is_removed_while_it_is_read_is_not_damaged(
    home: Path, meanwhile: Callable[[Callable[[], None]], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Two switches remove the generation that was current."""
    write(home, 1, 2)
    index, book = EdgeIndex(home), BookId("book")
    meanwhile(lambda: write(home, 3, 4))
    assert asyncio.run(index.faults(book)) == []
    meanwhile(lambda: write(home, 5, 6))
    assert asyncio.run(index.faults(book, previous=True)) == []
    meanwhile(lambda: write(home, 7, 8))
    assert asyncio.run(index.books())[book].generation == 8
    meanwhile(lambda: write(home, 9, 10))
    assert asyncio.run(found(EdgeIndex(home))) == ids(10)
    meanwhile(lambda: asyncio.run(EdgeIndex(home).remove(book)))
    with pytest.raises(BookNotFound):
        asyncio.run(index.faults(book))
    assert not caplog.records


def test_a_book_that_is_removed_since_it_was_listed_is_not_verified(home: Path) -> None:
    write(home, 1)
    index, book = EdgeIndex(home, lambda: 0.0), BookId("book")
    stores = Stores(index, SqliteLedgers(home / "ledger"), BookPages(home / "pages"), home)
    assert list(asyncio.run(index.books())) == [book]
    asyncio.run(EdgeIndex(home).remove(book))

    async def parts(*books: BookId) -> list[str]:
        return [one.part async for one in stores.verify(books) if one.book]

    assert asyncio.run(parts()) == []
    with pytest.raises(BookNotFound):
        asyncio.run(parts(book))


def test_a_generation_that_is_removed_while_the_engine_opens_it_is_not_answered_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would create the files of a removed shard again."""

    def load_after_removal(path: Path) -> EdgeShard:
        monkeypatch.undo()
        write(home, 3, 4)
        return load_shard(path)

    write(home, 1, 2)
    monkeypatch.setattr("app.adapters.qdrant.edge_generation.load_shard", load_after_removal)
    assert asyncio.run(found(EdgeIndex(home))) == ids(4)
    write(home, 5)
    assert book_entries(home) == entries("000004", "000005")


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
    clock = InstantClock()
    reader, writer = EdgeIndex(home, clock.now), EdgeIndex(home)
    await publish(writer, "book", points("book", [1]))
    assert await found(reader) == ids(1)
    await publish(writer, "book", points("book", [2]))
    (home / "index" / "book" / "000002.manifest").write_text("garbage")
    clock.time = 1.0
    assert await found(reader) == ids(1)
    assert caplog.messages == ["index.generation_damaged"]
    assert (await reader.damaged())[BookId("book")].answers
    await reader.check()
    # The generation whose manifest is damaged is not kept to go back to.
    assert (await publish(writer, "book", points("book", [3]))).generation == 3
    assert book_entries(home) == entries("000001", "000003")
    clock.time = 2.0
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
    clock = InstantClock()
    reader = EdgeIndex(home, clock.now)
    await publish(EdgeIndex(home), "book", points("book", [1]))
    damaged = the("*.versions", home, 1)
    content = damaged.read_bytes()
    cut(damaged)
    with pytest.raises(StorageError):
        await found(reader)
    damaged.write_bytes(content)
    clock.time = 29.0
    with pytest.raises(StorageError):
        await found(reader)
    clock.time = 31.0
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
