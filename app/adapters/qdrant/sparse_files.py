"""Files with holes: the engine allocates files of many MB and writes to their beginning.

A hole reads as zeros. Here a block of zeros counts as a hole, so that neither a hash nor a copy
depends on where the file system, or another copy, has holes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK = 2**16
_ZEROS = bytes(_BLOCK)


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


def size_on_disk(folder: Path) -> int:
    """Bytes allocated on disk: the nominal sizes of files with holes are far larger."""
    return sum(
        os.lstat(Path(root) / name).st_blocks * 512
        for root, _, names in os.walk(folder)
        for name in names
    )


def _written_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of the blocks that are not all zeros, ascending."""
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
