"""The lock of a book in the embedded index: one process at a time writes it."""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from app.domain.book_id import BookId
from app.domain.errors import IndexBusy


def lock_book(folder: Path, book: BookId) -> IO[str]:
    """Lock `<folder>/lock`, without waiting, until it is closed or this process ends.

    Creates the folder. The file is never deleted: it names the holder's process and start time, and
    so does IndexBusy.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / "lock").open("a+", encoding="utf-8", errors="replace")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read(200).strip() or "just started"
        file.close()
        if not isinstance(error, (BlockingIOError, PermissionError)):
            raise
        message = (
            f"book {book!r} is being written by another run ({holder}): wait for it to end, or "
            "stop it"
        )
        raise IndexBusy(message) from error
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    file.truncate(0)
    file.write(f"process {os.getpid()}, started {started}\n")
    file.flush()
    return file
