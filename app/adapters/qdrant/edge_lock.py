"""Locks of the embedded index.

One process at a time writes a book. No process removes a generation while another one opens it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.errors import IndexBusy


class BookLock:
    """An exclusive `flock` on `<folder>/lock`; the file names the process that holds it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, book: BookId) -> BookLock:
        """Take the lock without waiting; create the folder.

        IndexBusy names the holder's process and start time.
        """
        path = folder / "lock"
        while True:
            descriptor = _created(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = os.read(descriptor, 200).decode("utf-8", "replace").strip()
                os.close(descriptor)
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
                message = (
                    f"book {book!r} is being written by another run "
                    f"({holder or 'just started'}): wait for it to end, or stop it"
                )
                raise IndexBusy(message) from error
            if _is_file(descriptor, path):
                break
            os.close(descriptor)  # the last holder has removed the book with this file
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()}, started {started}\n".encode())
        return cls(path, descriptor)

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; `remove` also deletes its file, for a removed book."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            if remove:
                self._path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _created(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:  # a new book, or one that has just been removed
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o644)


@contextmanager
def generation_lock(folder: Path, *, removing: bool = False) -> Iterator[None]:
    """Hold a lock on a generation's folder: a shared one to open it, else one to remove it.

    The engine creates missing folders when it opens a shard, so a removed one would come back.
    No lock if the folder is missing, or on a file system without locks.
    """
    descriptor = _locked_folder(folder, fcntl.LOCK_EX if removing else fcntl.LOCK_SH)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked_folder(folder: Path, mode: int) -> int | None:
    """Wait for the lock; None if the folder is missing."""
    while True:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        with suppress(OSError):
            fcntl.flock(descriptor, mode)
        if _is_file(descriptor, folder):
            return descriptor
        os.close(descriptor)  # removed meanwhile


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
