import fcntl
import os
from pathlib import Path

import pytest

from app.adapters.qdrant import edge_generation, folder
from app.adapters.qdrant.edge_lock import generation_lock
from app.adapters.qdrant.folder import BookFolder
from app.domain.errors import StorageError


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

    monkeypatch.setattr(BookFolder, "check", check)
    with pytest.raises(StorageError, match="seen"):
        edge_generation.load(BookFolder(tmp_path), 1)

    assert seen == [(True, False)]


def test_a_generation_is_removed_when_no_process_opens_it_and_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that closes the shard would write into the folder that is being deleted."""
    generation = tmp_path / "000001"
    generation.mkdir()
    seen = []
    rename, rmtree = Path.rename, folder.shutil.rmtree

    def seen_rename(path: Path, target: Path) -> Path:
        seen.append(is_locked(path, fcntl.LOCK_SH))
        return rename(path, target)

    def seen_rmtree(path: Path) -> None:
        seen.append(generation.exists())
        rmtree(path)

    monkeypatch.setattr(Path, "rename", seen_rename)
    monkeypatch.setattr(folder.shutil, "rmtree", seen_rmtree)
    BookFolder(tmp_path).prune()

    assert seen == [True, False]
    assert not list(tmp_path.iterdir())


def test_a_generation_that_is_missing_needs_no_lock(tmp_path: Path) -> None:
    with generation_lock(tmp_path / "000001"):
        pass
