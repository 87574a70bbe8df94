"""The embedded store: generations on disk, several processes, crashes and full disks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.qdrant import edge_writer
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.edge_shard import load_shard, storage_errors
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, StorageError
from app.domain.retrieval.query import SearchFilter
from app.services.paragraphs import find_paragraph
from tests.conftest import ROOT
from tests.index_points import (
    DIMENSION,
    chunk_id,
    points,
    publish,
    quick_folder,
    vector,
)

ALL = SearchFilter()
QUERY = vector(*[1.0] * DIMENSION)


@pytest.fixture
def home() -> Iterator[Path]:
    with quick_folder() as folder:
        # Another user's process looks into it in one of the tests.
        folder.chmod(0o755)
        yield folder


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def found(index: EdgeIndex) -> set[str]:
    return {hit.chunk_id for hit in (await index.search(QUERY, None, 100, ALL)).dense}


def ids(*numbers: int) -> set[str]:
    return {chunk_id("book", number) for number in numbers}


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


def test_what_is_written_is_sealed_in_segments_of_bounded_size(home: Path) -> None:
    async def scenario() -> None:
        await publish(EdgeIndex(home, segment=100), "book", points("book", range(350)))

    asyncio.run(scenario())
    shard = load_shard(home / "index" / "book" / "000001" / "shard")
    assert shard.info().segments_count == 4


def test_a_book_too_large_to_compare_all_vectors_gets_a_graph(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_writer, "EXACT_UP_TO_KB", 5)

    async def scenario() -> None:
        index = EdgeIndex(home, segment=100)
        await publish(index, "book", points("book", range(350)))
        assert len(await index.chunks(BookId("book"))) == 350
        assert len(await found(index)) == 100

    asyncio.run(scenario())
    shard = load_shard(home / "index" / "book" / "000001" / "shard")
    assert shard.info().indexed_vectors_count == 2 * 350  # dense and sparse


def test_a_running_reader_takes_up_a_new_generation_half_a_second_later(home: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        reader, writer = EdgeIndex(home, clock), EdgeIndex(home)
        await publish(writer, "book", points("book", [1]))
        assert await found(reader) == ids(1)
        await publish(writer, "book", points("book", [2, 3]))
        clock.now = 0.4
        assert await found(reader) == ids(1)
        clock.now = 0.6
        assert await found(reader) == ids(2, 3)
        await writer.rollback(BookId("book"))
        clock.now = 1.2
        assert await found(reader) == ids(1)

    asyncio.run(scenario())


def test_questions_that_come_at_once_after_the_start_all_see_the_books(home: Path) -> None:
    async def scenario() -> None:
        await publish(EdgeIndex(home), "book", points("book", range(4)))
        index = EdgeIndex(home)
        listed = await asyncio.gather(*(index.books() for _ in range(16)))
        assert {tuple(one) for one in listed} == {("book",)}

    asyncio.run(scenario())


def test_a_search_sees_one_generation_whole_while_others_are_published(home: Path) -> None:
    generations = [ids(*range(number, number + 5)) for number in range(4)]

    async def scenario() -> None:
        clock = Clock()
        reader, writer = EdgeIndex(home, clock), EdgeIndex(home)
        await publish(writer, "book", points("book", range(5)))
        seen = []
        done = asyncio.Event()

        async def ask() -> None:
            while not done.is_set():
                clock.now += 0.3
                hits = {hit.chunk_id for hit in (await reader.search(QUERY, None, 9, ALL)).dense}
                chunks = await reader.fetch({BookId("book"): sorted(hits)})
                assert {one.chunk_id for one in chunks} == hits
                seen.append(hits)

        readers = asyncio.gather(*(ask() for _ in range(3)))
        for number in range(1, 4):
            await publish(writer, "book", points("book", range(number, number + 5)))
        done.set()
        await readers
        assert all(hits in generations for hits in seen)
        clock.now += 1
        assert await found(reader) == generations[-1]

    asyncio.run(scenario())


def test_several_processes_search_one_generation_at_a_time(home: Path) -> None:
    async def scenario() -> None:
        index = EdgeIndex(home)
        await publish(index, "book", points("book", range(7)))
        assert len(await found(index)) == 7
        body = """
            query = vector(*[1.0] * DIMENSION)
            print(len((await index.search(query, None, 10, SearchFilter())).dense))
        """
        others = [in_process(home, body) for _ in range(2)]
        assert [output(other).strip() for other in others] == ["7", "7"]
        assert len(await found(index)) == 7

    asyncio.run(scenario())


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
    assert "000002.building" in book_entries(home)
    assert asyncio.run(found(index)) == ids(1)
    assert asyncio.run(publish(index, "book", points("book", [2]))).generation == 2
    assert asyncio.run(found(index)) == ids(2)
    assert book_entries(home) == ["000001", "000002", "current", "lock"]


def test_a_complete_generation_that_was_never_switched_to_is_cleared_away(home: Path) -> None:
    async def scenario() -> None:
        index = EdgeIndex(home)
        await publish(index, "book", points("book", [1]))
        await publish(index, "book", points("book", [2]))
        # As a crash between the rename and the switch leaves it.
        (home / "index" / "book" / "000003").mkdir()
        assert (await publish(index, "book", points("book", [3]))).generation == 4
        assert book_entries(home) == ["000002", "000004", "current", "lock"]
        assert await found(index) == ids(3)

    asyncio.run(scenario())


def test_a_writer_that_cannot_clear_away_leftovers_keeps_no_lock(home: Path) -> None:
    async def scenario() -> None:
        index = EdgeIndex(home)
        await publish(index, "book", points("book", [1]))
        current = home / "index" / "book" / "current"
        current.unlink()
        current.mkdir()
        for _ in range(2):
            with pytest.raises(StorageError, match="directory"):
                await index.begin(BookId("book"), DIMENSION)

    asyncio.run(scenario())


def test_a_full_disk_is_one_clear_line_and_the_old_index_answers_on(home: Path) -> None:
    index = EdgeIndex(home)
    asyncio.run(publish(index, "book", points("book", [1])))
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 2**20,) * 2)"
    at_begin = in_process(home, f'{full}\nawait index.begin("book", DIMENSION)')
    assert_disk_full(output(at_begin))
    assert book_entries(home) == ["000001", "current", "lock"]
    body = f'writer = await index.begin("book", DIMENSION)\n{full}\n'
    at_write = in_process(home, body + 'await writer.write(points("book", [2]))')
    assert_disk_full(output(at_write))
    assert book_entries(home) == ["000001", "current", "lock"]
    assert asyncio.run(found(EdgeIndex(home))) == ids(1)


def assert_disk_full(line: str) -> None:
    assert line.startswith("StorageError ")
    assert "disk full" in line
    assert line.count("\n") == 1


# Only root may become another user; for anyone else, removed write permission is enough.
UNPRIVILEGED = """
        for path in [Path(HOME), *Path(HOME).rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)
        if os.geteuid() == 0:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
"""


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with quick_folder() as folder:
        folder.chmod(0o777)
        yield folder


def test_a_read_only_home_is_searched_in_a_copy_and_written_never(
    home: Path, elsewhere: Path
) -> None:
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    setup = UNPRIVILEGED.replace("HOME", repr(str(home)))
    search = "print((await index.search(vector(*[1.0] * 8), None, 1, SearchFilter())).dense)"
    try:
        for call in ('index.begin("book", DIMENSION)', 'index.begin("other", DIMENSION)'):
            line = output(in_process(home, f"{setup}\n        await {call}"))
            assert line.startswith("StorageError "), call
            assert "ermission denied" in line, call
            assert line.count("\n") == 1, call
        temporary = f"import tempfile; tempfile.tempdir = {str(elsewhere)!r}"
        process = in_process(home, f"{setup}\n        {temporary}\n        {search}")
        assert chunk_id("book", 1) in output(process)
    finally:
        for path in [home, *home.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o700)
    assert list(elsewhere.iterdir()) == []
    assert asyncio.run(found(EdgeIndex(home))) == ids(1)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("current", "garbage"),
        ("current", ""),
        ("000001/manifest", '{"layout": 1}'),
        ("000001/manifest", ""),
        ("000001/shard/edge_config.json", "{"),
    ],
)
def test_a_damaged_file_is_a_clear_error_that_names_it(home: Path, file: str, text: str) -> None:
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    (home / "index" / "book" / file).write_text(text)
    for call in (EdgeIndex(home).check(), EdgeIndex(home).search(QUERY, None, 1, ALL)):
        with pytest.raises(StorageError) as caught:
            asyncio.run(call)
        for part in (str(home / "index" / "book"), Path(file).name):
            assert part in str(caught.value)


def cut(path: Path, to: int = 0) -> None:
    with path.open("r+b") as file:
        file.truncate(to)


def the(pattern: str, home: Path, generation: int = 2) -> Path:
    (path,) = (home / "index" / "book" / f"{generation:06d}").rglob(pattern)
    return path


def test_the_generation_before_answers_for_one_that_is_damaged(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        writer, book = EdgeIndex(home), BookId("book")
        await publish(writer, "book", points("book", [1]))
        await publish(writer, "book", points("book", [2]))
        cut(the("*.mappings", home))
        reader = EdgeIndex(home)
        assert await found(reader) == ids(1)
        assert [one.generation for one in (await reader.books()).named()] == [1]
        damage = (await reader.damaged())[book]
        assert damage.answers
        assert "mutable_id_tracker.mappings" in damage.reason
        await reader.check()
        assert caplog.messages == ["index.generation_damaged"]
        (fault,) = await reader.faults(book)
        assert "000002: not as it was published: " in fault
        assert "mutable_id_tracker.mappings" in fault
        assert (await reader.repair(book)).generation == 1
        assert await found(reader) == ids(1)
        assert await reader.damaged() == {}
        assert await reader.faults(book) == []
        assert (await publish(writer, "book", points("book", [3]))).generation == 3
        assert book_entries(home) == ["000001", "000003", "current", "lock"]

    asyncio.run(scenario())


def test_a_running_reader_goes_on_with_what_it_has_open(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
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

    asyncio.run(scenario())


@pytest.mark.parametrize("file", ["page_0.dat", "tracker.dat", "status.dat", "chunk_0.mmap"])
def test_a_file_that_is_cut_while_it_is_mapped_is_let_go_of(home: Path, file: str) -> None:
    """Searching it, and closing it too, would kill the process."""
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [2])))
    body = f"""
        async def find():
            found = await index.search(vector(*[1.0] * DIMENSION), None, 9, SearchFilter())
            return [hit.chunk_id for hit in found.dense]
        before = await find()
        for path in Path({str(home)!r}).glob("index/book/000002/shard/**/{file}"):
            with path.open("r+b") as opened:
                opened.truncate(0)
        clock[0] = 6.0
        print(await find(), len(before), list(await index.damaged()))
    """
    process = in_process(home, body)
    said = output(process)
    assert chunk_id("book", 1) in said
    assert said.endswith("1 ['book']\n")
    assert process.returncode == 0


def test_a_damaged_book_leaves_the_others_alone(home: Path) -> None:
    async def scenario() -> None:
        clock = Clock()
        writer, reader = EdgeIndex(home), EdgeIndex(home, clock)
        book, other = BookId("book"), BookId("other")
        await publish(writer, "book", points("book", [1]))
        await publish(writer, "other", points("other", [1]))
        cut(the("*.versions", home, 1))
        for _ in range(2):
            assert await found(reader) == {chunk_id("other", 1)}
            assert [*await reader.books()] == [other]
            assert [one.book for one in await reader.matching(ALL)] == [other]
            assert max(await reader.best_scores([1])) == 0
            assert (await find_paragraph(reader, "p-other-1", other)) is not None
            await reader.check()
            damage = await reader.damaged()
            assert list(damage) == [book]
            assert not damage[book].answers
            clock.now += 100
        both = SearchFilter(books=(book, other))
        assert len((await reader.search(QUERY, None, 9, both)).dense) == 1
        only = SearchFilter(books=(book,))
        for call in (
            reader.search(QUERY, None, 9, only),
            reader.matching(only),
            reader.best_scores([1], [book]),
            reader.fetch({book: [chunk_id("book", 1)]}),
            find_paragraph(reader, "p-book-1", book),
        ):
            with pytest.raises(StorageError, match="versions"):
                await call
        await publish(writer, "book", points("book", [2]))
        assert await found(reader) == {chunk_id("other", 1), *ids(2)}
        assert await reader.damaged() == {}

    asyncio.run(scenario())


def test_a_book_that_is_whole_again_is_taken_up_half_a_minute_later(home: Path) -> None:
    async def scenario() -> None:
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

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_is_no_failure_of_the_engine_passes_through(error: type[BaseException]) -> None:
    with pytest.raises(error), storage_errors(Path()):
        raise error


def test_a_copy_that_fills_the_holes_of_files_is_the_same_index(home: Path) -> None:
    asyncio.run(publish(EdgeIndex(home), "book", points("book", [1])))
    vectors = the("chunk_0.mmap", home, 1)
    taken = vectors.stat().st_blocks
    vectors.write_bytes(vectors.read_bytes())
    assert vectors.stat().st_blocks > 10 * taken
    assert asyncio.run(EdgeIndex(home).faults(BookId("book"))) == []
    assert asyncio.run(found(EdgeIndex(home))) == ids(1)


def test_opening_and_searching_changes_no_byte_of_a_generation(home: Path) -> None:
    async def scenario() -> None:
        await publish(EdgeIndex(home, segment=100), "book", points("book", range(350)))
        for _ in range(2):
            assert len(await found(EdgeIndex(home))) == 100
            assert await EdgeIndex(home).faults(BookId("book")) == []

    asyncio.run(scenario())


def test_books_are_listed_with_the_room_they_take(home: Path) -> None:
    index = EdgeIndex(home)
    small = asyncio.run(publish(index, "book", points("book", range(2))))
    large = asyncio.run(publish(index, "large", points("large", range(3_000))))
    assert 0 < small.size_bytes < large.size_bytes
    assert [one.size_bytes for one in asyncio.run(index.books()).named()] == [
        small.size_bytes,
        large.size_bytes,
    ]


def test_files_beside_the_books_are_ignored(home: Path) -> None:
    index = EdgeIndex(home)
    asyncio.run(publish(index, "book", points("book", [1])))
    (home / "index" / ".DS_Store").write_text("")
    (home / "index" / "empty").mkdir()
    assert [*asyncio.run(index.books())] == ["book"]
    assert asyncio.run(found(index)) == ids(1)
