"""Disks that are full or read-only.

The engine maps sparse files into memory. On a full disk, writing into a hole kills the process
(SIGBUS) instead of raising an error. It also opens its files for writing even to search, which a
read-only disk refuses; then a copy in the temporary folder is opened.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from pathlib import Path

from app.adapters.qdrant.sparse_files import copy_sparse, size_on_disk
from app.domain.errors import StorageError

_log = logging.getLogger(__name__)

_RESERVE = 96 * 2**20
"""Bytes that must stay free: the engine's preallocated files take up to 91 MB on a file system that
fills holes when they are mapped (measured on tmpfs; 2 MB on ext4)."""

_REWRITTEN = 4 * 2**20
"""Bytes that opening a shard writes on a file system that keeps holes."""


def require_space(folder: Path, size: int) -> None:
    """StorageError unless `size` bytes and `_RESERVE` can be written in this folder now.

    The bytes are allocated and freed again, which also detects quotas.
    """
    if shutil.disk_usage(folder).free < size + _RESERVE:
        raise _disk_full(folder, size + _RESERVE)
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _disk_full(folder, size) from error
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def disk_fault(folder: Path) -> str:
    """Return "read-only" or "full"; "" if a new generation could be written there."""
    if not os.access(folder, os.W_OK):
        return "read-only"
    return "full" if shutil.disk_usage(folder).free < _RESERVE else ""


def copy_if_needed(shard: Path) -> tempfile.TemporaryDirectory[str] | None:
    """Return a copy of a shard on a read-only or full disk; None if it can be opened in place.

    The copy is removed with the returned object. StorageError if there is no room for it either.
    """
    why = disk_fault(shard) or ("" if _is_writable(shard) else "read-only")
    if not why:
        return None
    parent = Path(tempfile.gettempdir())
    if shutil.disk_usage(parent).free < size_on_disk(shard) + _RESERVE:
        if why == "full" and shutil.disk_usage(shard).free >= _REWRITTEN:
            return None
        message = f"{parent}: no room for a copy of {shard}, whose disk is {why}"
        raise StorageError(message)
    copy = tempfile.TemporaryDirectory(prefix="textbook-rag-index-")
    shutil.copytree(shard, copy.name, copy_function=copy_sparse, dirs_exist_ok=True)
    for path in (Path(copy.name), *Path(copy.name).rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    fields = {"folder": str(shard), "disk": why, "copy": copy.name}
    _log.warning("index.opened_from_copy", extra=fields)
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


def _disk_full(folder: Path, size: int) -> StorageError:
    return StorageError(f"{folder}: disk full: {size // 2**20} MB needed; the old index stays")
