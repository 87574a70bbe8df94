"""Several processes open, switch and remove the generations of one embedded book."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.edge_folder import BookFolder, Current
from app.adapters.qdrant.edge_generation import Generation
from app.adapters.qdrant.edge_lock import BookLock, generation_lock
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, StorageError
from app.services.verify import VerifyBooks
from tests.index_points import chunk_id, points, publish

BOOK = BookId("book")


async def write(home: Path, *texts: int) -> None:
    for text in texts:
        await publish(EdgeIndex(home), BOOK, points(BOOK, [text]))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Let something happen once, right after `current` is read."""
    current = BookFolder.current

    def happens(action: Callable[[], None]) -> None:
        def current_before(folder: BookFolder) -> Current | None:
            monkeypatch.setattr(BookFolder, "current", current)
            numbers = folder.current()
            action()
            return numbers

        monkeypatch.setattr(BookFolder, "current", current_before)

    return happens


def is_locked(path: Path, mode: int) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_a_generation_that_a_process_opens_is_locked_against_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would create folders of a removed generation again."""
    generation = tmp_path / "000001"
    generation.mkdir()
    seen = []

    def check(_: BookFolder, __: int) -> None:
        seen.append((is_locked(generation, fcntl.LOCK_EX), is_locked(generation, fcntl.LOCK_SH)))
        raise StorageError("seen")

    monkeypatch.setattr(BookFolder, "stored", check)
    with pytest.raises(StorageError, match="seen"):
        Generation.load(BookFolder(tmp_path), 1)

    assert seen == [(True, False)]


def test_a_generation_is_removed_when_no_process_opens_it_and_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that closes the shard would write into the folder that is being deleted."""
    generation = tmp_path / "000001"
    generation.mkdir()
    seen = []
    rename, rmtree = Path.rename, shutil.rmtree

    def seen_rename(path: Path, target: Path) -> Path:
        seen.append(is_locked(path, fcntl.LOCK_SH))
        return rename(path, target)

    def seen_rmtree(path: Path) -> None:
        seen.append(generation.exists())
        rmtree(path)

    monkeypatch.setattr(Path, "rename", seen_rename)
    monkeypatch.setattr(shutil, "rmtree", seen_rmtree)
    BookFolder(tmp_path).prune()

    assert seen == [True, False]
    assert not list(tmp_path.iterdir())


def test_a_generation_that_is_missing_needs_no_lock(tmp_path: Path) -> None:
    with generation_lock(tmp_path / "000001"):
        pass


def test_a_book_that_is_removed_before_it_is_locked_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that removes a book also removes its folder."""
    index = EdgeIndex(tmp_path)
    asyncio.run(write(tmp_path, 1))
    take = BookLock.take

    def take_after_removal(path: Path, book: BookId) -> BookLock:
        monkeypatch.setattr(BookLock, "take", take)
        asyncio.run(EdgeIndex(tmp_path).remove(book))
        return take(path, book)

    monkeypatch.setattr(BookLock, "take", take_after_removal)
    asyncio.run(write(tmp_path, 2))

    monkeypatch.setattr(BookLock, "take", take_after_removal)
    with pytest.raises(BookNotFound):
        asyncio.run(index.remove(BOOK))
    assert not (tmp_path / "index" / "book").exists()


def test_a_generation_that_is_removed_while_it_is_checked_is_not_damaged(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    """Two switches remove the generation that was current."""
    asyncio.run(write(tmp_path, 1, 2))
    index = EdgeIndex(tmp_path)
    meanwhile(lambda: asyncio.run(write(tmp_path, 3, 4)))
    assert asyncio.run(index.faults(BOOK)) == []
    meanwhile(lambda: asyncio.run(write(tmp_path, 5, 6)))
    assert asyncio.run(index.faults_before(BOOK)) == []
    meanwhile(lambda: asyncio.run(write(tmp_path, 7, 8)))
    manifest = asyncio.run(index.manifest(BOOK))
    assert manifest is not None
    assert manifest.generation == 8


def test_a_book_that_is_removed_while_it_is_read_is_missing_and_not_damaged(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    index = EdgeIndex(tmp_path)
    for call, error in ((index.manifest, None), (index.faults, BookNotFound)):
        asyncio.run(write(tmp_path, 1))
        meanwhile(lambda: asyncio.run(EdgeIndex(tmp_path).remove(BOOK)))
        if error is None:
            assert asyncio.run(call(BOOK)) is None
        else:
            with pytest.raises(error):
                asyncio.run(call(BOOK))


def test_a_replaced_generation_that_is_removed_meanwhile_is_no_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(write(tmp_path, 1, 2))
    index = EdgeIndex(tmp_path, lambda: 0.0)
    assert len(asyncio.run(index.fetch({BOOK: [chunk_id(BOOK, 2)]}))) == 1

    load = Generation.load

    def load_after_a_switch(folder: BookFolder, number: int) -> Generation:
        asyncio.run(write(tmp_path, 3))
        return load(folder, number)

    monkeypatch.setattr(Generation, "load", load_after_a_switch)
    assert asyncio.run(index.fetch({BOOK: [chunk_id(BOOK, 1)]})) == []
    assert not caplog.records


def test_a_book_that_is_removed_since_it_was_listed_is_not_verified(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path, 1))
    index = EdgeIndex(tmp_path, lambda: 0.0)
    cache = SqliteEmbeddingCache(tmp_path / "embeddings.sqlite")
    verify = VerifyBooks(index, SqliteLedgers(tmp_path / "ledger"), {"cache": cache.faults})
    assert list(asyncio.run(index.books())) == [BOOK]
    asyncio.run(EdgeIndex(tmp_path).remove(BOOK))
    assert [(one.part, one.sound) for one in asyncio.run(verify.run())] == [("cache", True)]
    with pytest.raises(BookNotFound):
        asyncio.run(verify.run([BOOK]))
