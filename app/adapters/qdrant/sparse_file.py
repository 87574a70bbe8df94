"""Files with holes: what is written in them, and a copy that keeps the holes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

BLOCK = 2**20


def written_blocks(descriptor: int) -> Iterator[tuple[int, bytes]]:
    """Position and bytes of what is no hole, ascending, at most `BLOCK` at a time."""
    position, size = 0, os.fstat(descriptor).st_size
    while position < size:
        try:
            position = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:  # ENXIO: a hole up to the end
            return
        end = os.lseek(descriptor, position, os.SEEK_HOLE)
        while position < end and (
            block := os.pread(descriptor, min(BLOCK, end - position), position)
        ):
            yield position, block
            position += len(block)


def copy_sparse(source: str | Path, target: str | Path) -> None:
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        for position, block in written_blocks(old.fileno()):
            new.seek(position)
            new.write(block)
        new.truncate(os.fstat(old.fileno()).st_size)
