"""Temporary copies of shards whose disk is read-only or full.

The engine opens its files for writing even to search, and rewrites a few with the same bytes. A
read-only file system refuses that. A full file system that fills holes when they are mapped (tmpfs
does, ext4 does not) kills the process by SIGBUS.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path

from app.adapters.qdrant.checksums import written_blocks
from app.adapters.qdrant.edge_folder import RESERVE, size_on_disk
from app.adapters.qdrant.temporary_folder import TemporaryFolder
from app.domain.errors import StorageError

_log = logging.getLogger(__name__)

_PREFIX = "textbook-rag-index-"
_REWRITTEN = 4 * 2**20
"""Bytes that opening a shard writes on a file system that keeps holes."""


class ShardCopy:
    """A folder in the system's temporary folder, removed with this object or at exit."""

    def __init__(self, shard: Path) -> None:
        """Copy the shard. StorageError if the temporary folder has no room either."""
        parent = Path(tempfile.gettempdir())
        self._folder = TemporaryFolder(parent, _PREFIX)  # removes leftovers, which makes room
        size = size_on_disk(shard)
        if shutil.disk_usage(parent).free < size + RESERVE:
            message = f"{parent}: no room for a copy of {shard}, whose disk is read-only or full"
            raise StorageError(message)
        self.path = self._folder.path / "shard"
        shutil.copytree(shard, self.path, copy_function=copy_sparse)
        _make_writable(self.path)


def copy_if_needed(shard: Path) -> ShardCopy | None:
    """Return a copy of a shard on a read-only or full disk; None if it can be opened in place."""
    why = disk_fault(shard) or ("" if _is_writable(shard) else "read-only")
    if not why:
        return None
    try:
        copy = ShardCopy(shard)
    except (OSError, StorageError):
        if why == "full" and shutil.disk_usage(shard).free >= _REWRITTEN:
            return None
        raise
    _log.warning(
        "index.opened_from_copy", extra={"folder": str(shard), "disk": why, "copy": str(copy.path)}
    )
    return copy


def _is_writable(shard: Path) -> bool:
    """Whether all files can be written.

    Files and folders that vanish meanwhile do not count: another process that opens the shard makes
    temporary ones. `os.walk` ignores vanished folders, `Path.rglob` does not.
    """
    paths = (
        Path(root) / name for root, folders, names in os.walk(shard) for name in folders + names
    )
    return all(os.access(path, os.W_OK) or not path.exists() for path in paths)


def disk_fault(folder: Path) -> str:
    """Return "read-only" or "full"; "" if a new generation could be written there."""
    if not os.access(folder, os.W_OK):
        return "read-only"
    return "full" if shutil.disk_usage(folder).free < RESERVE else ""


def copy_sparse(source: str | Path, target: str | Path) -> None:
    """Copy a file and keep its holes."""
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        for position, block in written_blocks(old.fileno()):
            new.seek(position)
            new.write(block)
        new.truncate(os.fstat(old.fileno()).st_size)


def _make_writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o600 | (0o100 if path.is_dir() else 0))
