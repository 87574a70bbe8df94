"""The disk of the embedded index: files with holes, full and read-only disks, errors.

The engine allocates files of many MB, writes to their beginning and maps them into memory. A hole
reads as zeros. On a full disk, writing into one kills the process (SIGBUS) instead of raising an
error. The engine also opens its files for writing even to search, which a read-only disk refuses;
then a copy in the temporary folder is opened.
"""

import errno
import hashlib
import logging
import os
import shutil
import tempfile
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.domain.errors import RagError, StorageError

_log = logging.getLogger(__name__)

_BLOCK = 2**16
_ZEROS = bytes(_BLOCK)

_RESERVE = 96 * 2**20
"""Bytes that must stay free: the engine's preallocated files take up to 91 MB on a file system that
fills holes when they are mapped (measured on tmpfs; 2 MB on ext4)."""

_REWRITTEN = 4 * 2**20
"""Bytes that opening a shard writes on a file system that keeps holes."""


@contextmanager
def storage_errors(where: Path) -> Iterator[None]:
    """Raise StorageError, with a one-line message, for errors of the engine and the file system."""
    try:
        yield
    except (RagError, CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except OSError as error:
        message = f"{error.filename or where}: {error.strerror or error}; check RAG_HOME"
        raise StorageError(message) from error
    except BaseException as error:  # a panic of the engine is no Exception
        reason = str(error).split("\n", 1)[0][:300]
        raise StorageError(f"{where}: {reason}") from error


def digest(paths: Iterable[Path]) -> str:
    """Return one SHA-256, in hex, of all bytes of these files, in this order."""
    found = hashlib.sha256()
    for path in paths:
        found.update(b"file")
        for position, block in _written_blocks(path):
            found.update(position.to_bytes(8, "little") + block)
    return found.hexdigest()


def copy_sparse(source: str | Path, target: str | Path) -> None:
    """Copy a file and keep its holes."""
    with Path(target).open("wb") as new:
        for position, block in _written_blocks(Path(source)):
            new.seek(position)
            new.write(block)
        new.truncate(Path(source).stat().st_size)


def _written_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of the blocks that are not all zeros, ascending.

    A block of zeros counts as a hole, so that it does not matter where a copy has holes.
    """
    with path.open("rb", buffering=0) as file:
        size, position = os.fstat(file.fileno()).st_size, 0
        while position < size:
            try:
                position = os.lseek(file.fileno(), position, os.SEEK_DATA) // _BLOCK * _BLOCK
            except OSError:  # ENXIO: a hole up to the end
                return
            block = os.pread(file.fileno(), _BLOCK, position)
            if block != _ZEROS[: len(block)]:
                yield position, block
            position += _BLOCK


def size_on_disk(folder: Path) -> int:
    """Bytes allocated on disk: the nominal sizes of files with holes are far larger."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def require_space(folder: Path, size: int) -> None:
    """StorageError unless `size` bytes and `_RESERVE` can be written in this folder now.

    The bytes are allocated and freed again, which also detects quotas.
    """
    full = f"{folder}: disk full: {(size + _RESERVE) // 2**20} MB needed; the old index stays"
    if shutil.disk_usage(folder).free < size + _RESERVE:
        raise StorageError(full)
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StorageError(full) from error
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
    if not (why := disk_fault(shard)):
        return None
    parent = Path(tempfile.gettempdir())
    if shutil.disk_usage(parent).free < size_on_disk(shard) + _RESERVE:
        if why == "full" and shutil.disk_usage(shard).free >= _REWRITTEN:
            return None
        raise StorageError(f"{parent}: no room for a copy of {shard}, whose disk is {why}")
    copy = tempfile.TemporaryDirectory(prefix="textbook-rag-index-")
    shutil.copytree(shard, copy.name, copy_function=copy_sparse, dirs_exist_ok=True)
    for path in (Path(copy.name), *Path(copy.name).rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    fields = {"folder": str(shard), "disk": why, "copy": copy.name}
    _log.warning("index.opened_from_copy", extra=fields)
    return copy
