"""Temporary folders with a lock, by which those of killed processes are found and removed."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LOCK = "textbook-rag.lock"


class TemporaryFolder:
    """A new folder with a random name, removed by `remove`, with this object or at exit.

    The process holds the folder's lock file. The next folder with the same prefix removes those
    whose lock is free: their processes were killed.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        """OSError if the folder cannot be made."""
        with suppress(OSError):
            for left in [one for one in parent.iterdir() if one.name.startswith(prefix)]:
                with suppress(OSError):
                    _remove_unless_locked(left)
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
        self.path = Path(self._folder.name)
        # Locked before it has its name: a folder without the lock file is not removed.
        new = self.path / f"{_LOCK}.new"
        self._lock = new.open("w")
        with suppress(OSError):  # a file system without locks: then none is removed
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)

    def remove(self) -> None:
        self._folder.cleanup()
        self._lock.close()


def _remove_unless_locked(folder: Path) -> None:
    with (folder / _LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
