"""A backup is one checked file from which either engine gives the same answers again."""

import asyncio
import contextlib
import json
import random
import re
import shutil
import sqlite3
from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.book_pages import BookPages
from app.adapters.qdrant.backup import reading_backup, writing_backup
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.bootstrap.backups import Stores
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, InputError
from app.domain.indexed_book import BookManifest, IndexPoint, Snapshot
from app.domain.ledger import Entry, Ledger
from app.domain.retrieval.query import SparseVector
from app.services.phases import Phases
from app.services.ports import BookStore
from tests.command_line import Run
from tests.index_points import points, publish, stored
from tests.index_stores import OPENERS, Opener, embedded
from tests.ingesting import edit, make_book

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

BOOK = BookId("lamps")
REAL = [one for name, one in OPENERS.items() if name != "server"]
"""The in-memory engine computes in other precisions."""


def made(count: int) -> list[IndexPoint]:
    """Points of which one has no terms."""
    some = points(BOOK, range(count))
    some[3] = replace(some[3], sparse=SparseVector((), ()))
    return some


def ledger() -> Ledger:
    """Of two paragraphs, whose texts hold what ends a line elsewhere."""
    texts = {"p1": "one\u2028two\x85three", "p2": "\x0bfour"}
    return Ledger(
        {
            pid: Entry(pid, "c", text, "a.md", ("A", "B"), "u", "", place, place == 0)
            for place, (pid, text) in enumerate(texts.items())
        },
        {},
    )


def stores(index: BookStore, home: Path) -> Stores:
    return Stores(index, SqliteLedgers(home / "ledger"), BookPages(home / "pages"), home)


async def back_up(index: BookStore, home: Path, file: Path) -> list[BookManifest]:
    with writing_backup(file) as backup:
        assert await stores(index, home).back_up(backup, Phases()) == []
        return backup.books


async def restore(index: BookStore, home: Path, file: Path) -> list[BookManifest]:
    with reading_backup(file) as backup:
        restored = stores(index, home).restore(backup, [*backup.books], Phases())
        return [one async for one in restored]


def bits(some: Sequence[IndexPoint]) -> list[tuple[object, ...]]:
    return [
        (one.chunk, one.dense.tobytes(), one.sparse.indices, array("f", one.sparse.values))
        for one in some
    ]


@pytest.mark.parametrize("source", REAL)
@pytest.mark.parametrize("target", REAL)
async def test_every_bit_is_restored_in_an_empty_index(
    source: Opener, target: Opener, home: Path
) -> None:
    here, there, file = home / "a", home / "b", home / "backup"
    async with source() as old, target() as new:
        await publish(old, BOOK, made(300))
        await publish(old, "other", points("other", range(5)))
        await SqliteLedgers(here / "ledger").save(BOOK, ledger())
        done = await back_up(old, here, file)
        assert [one.chunks for one in done] == [300, 5]
        restored = await restore(new, there, file)
        assert [one.book for one in restored] == [BOOK, "other"]
        assert bits(await stored(new, BOOK)) == bits(await stored(old, BOOK))
        manifests = [(await index.books())[BOOK] for index in (old, new)]
        assert len({replace(one, size_bytes=0) for one in manifests}) == 1
        assert await SqliteLedgers(there / "ledger").load(BOOK) == ledger()


def test_a_cut_or_changed_file_is_refused_before_anything_is_changed(home: Path, run: Run) -> None:
    """A bit that changes nothing that is read, such as a file's date, may be changed."""
    file, bad = home / "backup", home / "bad"
    asyncio.run(_published(home / "a", file))
    whole, expected = file.read_bytes(), content(file)
    chance, accepted = random.Random(1), 0
    places = [0, 1, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(30))]
    for place in places:
        bad.write_bytes(whole[:place])
        with pytest.raises(InputError, match="truncated, changed or another file"):
            content(bad)
        changed = bytes([whole[place] ^ 1 << chance.randrange(8)])
        bad.write_bytes(whole[:place] + changed + whole[place + 1 :])
        with contextlib.suppress(InputError):
            assert content(bad) == expected
            accepted += 1
    assert accepted < 15
    bad.write_bytes(whole[:-1])
    assert f"{bad}: not a complete backup" in run("restore", bad).refusal()
    assert not (home / "state").exists()


def content(file: Path) -> object:
    with reading_backup(file) as backup:
        pages = [(book, [bits(page) for page in backup.points(book)]) for book in backup.books]
        return backup.books, pages, backup.state


async def _published(home: Path, file: Path) -> None:
    index = EdgeIndex(home)
    await publish(index, BOOK, made(20))
    await back_up(index, home, file)


@pytest.mark.parametrize("source", OPENERS.values())
async def test_a_book_that_is_ingested_meanwhile_is_one_generation(
    source: Opener, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 2 if source is embedded else 1
    monkeypatch.setattr("app.adapters.qdrant.edge_generation.PAGE", 100)
    monkeypatch.setattr("app.adapters.qdrant.server.BATCH", 100)
    file = home / "backup"

    async def overtaken(pages: AsyncIterator[list[IndexPoint]]) -> AsyncIterator[list[IndexPoint]]:
        yield await anext(pages)
        for _ in range(times):
            await publish(old, BOOK, points(BOOK, range(100), version="v9"))
        async for page in pages:
            yield page

    async def snapshot(index: Any, book: BookId) -> Snapshot:
        found = await whole(index, book)
        return replace(found, pages=overtaken(aiter(found.pages)))

    async with source() as old:
        await publish(old, BOOK, made(300))
        whole = type(old).snapshot
        monkeypatch.setattr(type(old), "snapshot", snapshot)
        done = await back_up(old, home / "a", file)
        monkeypatch.undo()
    new = EdgeIndex(home / "b")
    await restore(new, home / "b", file)
    got = await stored(new, BOOK)
    assert {one.chunk.book_version for one in got} in ({"v1"}, {"v9"})
    assert len(got) == done[0].chunks == (300 if got[0].chunk.book_version == "v1" else 100)


def test_books_of_the_index_are_replaced_only_when_that_is_said(home: Path, run: Run) -> None:
    file = home / "backup"
    book = make_book(home / "lamps", pages=2)
    run("ingest", book)
    before = run("links", BOOK, "--ledger").out
    first = run("backup", file)
    assert (first.code, file.stat().st_mode & 0o777) == (0, 0o600)
    assert "exists already" in run("backup", file).refusal()
    edit(book / "page0.md", "beam", "changed")
    run("ingest", book)
    assert "Replace lamps" in run("restore", file).refusal()
    done = run("restore", file, "--yes")
    assert done.out == "lamps: 4 chunks, generation 3\n"
    assert "embeddings.sqlite: kept; to restore the backup's copy" in done.err
    assert run("links", BOOK, "--ledger").out == before
    assert "changed" not in run("search", "beam changed", "--json").out
    assert run("rollback", BOOK).code == 0
    assert "there are: lamps" in run("restore", file, "nobook").refusal()


def test_one_book_of_several_is_restored_and_answers(home: Path, run: Run) -> None:
    file = home / "backup"
    for name in ("lamps", "other"):
        run("ingest", make_book(home / name, pages=1))
    before = run("search", "lantern mirror", "--json", "--book", "lamps").out
    pages = BookPages(home / "state/pages")
    contents = pages.contents(BOOK)
    run("backup", file)
    shutil.rmtree(home / "state")
    done = run("restore", file, "lamps")
    assert (done.out.count("\n"), done.err.count("kept")) == (1, 0)
    assert run("search", "lantern mirror", "--json").out == before
    assert pages.contents(BOOK) == contents is not None
    assert pages.contents(BookId("other")) is None
    assert [one["book"] for one in json.loads(run("books", "--json").out)] == ["lamps"]


def test_state_that_is_there_is_kept_and_what_is_missing_is_restored(home: Path, run: Run) -> None:
    file, state = home / "backup", home / "state"
    run("ingest", make_book(home / "lamps", pages=1))
    run("keys", "add", "--secret", "--label", "old")
    # A transaction that is still in the write-ahead log.
    live = sqlite3.connect(state / "questions.sqlite")
    live.executescript("pragma journal_mode = wal; create table t (x); insert into t values (7);")
    assert run("backup", file).code == 0
    live.close()
    shutil.rmtree(state)
    run("keys", "add", "--secret", "--label", "new")
    (state / "questions.sqlite-wal").write_bytes(b"of a file that was deleted")
    done = run("restore", file)
    assert re.findall(r"(\w+)\.sqlite: restored", done.out) == ["questions", "embeddings"]
    assert re.findall(r"(\w+)\.sqlite: kept", done.err) == ["keys"]
    assert [one["label"] for one in json.loads(run("keys", "list", "--json").out)] == ["new"]
    with contextlib.closing(sqlite3.connect(state / "questions.sqlite")) as restored:
        assert restored.execute("select x from t").fetchall() == [(7,)]
    again = run("ingest", home / "lamps", "--json").json()
    assert (again["unchanged"], again["embedded"]) == (True, 0)


def test_a_damaged_book_is_left_out_and_named(home: Path, run: Run) -> None:
    file = home / "backup"
    for name in ("lamps", "other"):
        run("ingest", make_book(home / name, pages=1))
    (home / "state/index/other/000001.manifest").write_text("{}")
    done = run("backup", file)
    assert done.code == 1
    assert "other is left out" in done.err
    assert ": 1 book, " in done.out
    (home / "state/index/lamps/000001.manifest").write_text("x")
    nothing = run("backup", home / "none")
    assert (nothing.code, list(home.glob("none*"))) == (1, [])
    assert not list(home.glob("textbook-rag-backup-*"))


async def test_a_restore_that_stops_leaves_the_book_as_it_was(home: Path) -> None:
    file = home / "backup"
    await _published(home / "a", file)
    target = EdgeIndex(home / "b")
    await publish(target, BOOK, points(BOOK, range(7), version="v0"))
    before = bits(await stored(target, BOOK))
    writer = await target.begin(BOOK, 8)  # an ingest is under way
    with pytest.raises(IndexBusy):
        await restore(target, home / "b", file)
    await writer.abandon()
    assert bits(await stored(target, BOOK)) == before
    await restore(target, home / "b", file)
    assert len(await stored(target, BOOK)) == 20
