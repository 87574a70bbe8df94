"""Size and hash of each file of a published generation, in `checksums.json`.

The contents are hashed because modification times say nothing: when the engine opens a shard, it
rewrites some files with the same bytes. Most files end in a hole of many MB, which reads as zeros.
A file is hashed up to its last byte that is not zero, so the hash does not depend on where the file
system, or a copy, has holes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import xxhash

from app.domain.errors import IndexUnreadable

BLOCK = 2**20
_ZEROS = bytes(BLOCK)
_ZERO_RUNS = [bytes(BLOCK >> shift) for shift in range(11)]
"""Zeros of 1 MB, then half as many each time, down to 1 KB."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """`size` in bytes; `digest` is the 128-bit XXH3 in hex, 10 times as fast as a disk."""

    size: int
    digest: str

    @classmethod
    def of(cls, path: Path) -> Checksum:
        return cls(path.stat().st_size, _digest(path))


@dataclass(frozen=True, slots=True)
class Checksums:
    """Checksums by path relative to the generation's folder."""

    files: Mapping[str, Checksum]

    @classmethod
    def of(cls, folder: Path, below: str) -> Checksums:
        """Read every file of `folder/below`."""
        paths = sorted(path for path in (folder / below).rglob("*") if path.is_file())
        return cls({path.relative_to(folder).as_posix(): Checksum.of(path) for path in paths})

    def to_text(self) -> str:
        rows = {name: f"{one.size} {one.digest}" for name, one in self.files.items()}
        return json.dumps(rows, indent=0, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str, where: str) -> Checksums:
        """IndexUnreadable, naming `where`, unless `to_text` wrote this."""
        try:
            rows = {name: str(row).split() for name, row in json.loads(text).items()}
            return cls({name: Checksum(int(size), total) for name, (size, total) in rows.items()})
        except (ValueError, AttributeError) as error:
            message = f"{where}: damaged ({error}); ingest the book again"
            raise IndexUnreadable(message) from error

    def wrong_sizes(self, folder: Path) -> list[str]:
        """The files that are missing, or whose size has changed."""
        return [name for name, one in self.files.items() if _size(folder / name) != one.size]

    def wrong(self, folder: Path) -> list[str]:
        """The files whose size, or else whose content, has changed; every byte is read."""
        return self.wrong_sizes(folder) or [
            name for name, one in self.files.items() if _digest(folder / name) != one.digest
        ]


def written_blocks(descriptor: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of all data outside holes, ascending, at most `BLOCK` bytes each."""
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


def text_digest(text: str) -> str:
    return xxhash.xxh3_128_hexdigest(text.encode())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1


def _digest(path: Path) -> str:
    """Hash a file without the zeros at its end."""
    digest, end = xxhash.xxh3_128(), 0
    with path.open("rb", buffering=0) as file:
        for position, block in written_blocks(file.fileno()):
            written = _without_trailing_zeros(block)
            if written:
                _add_zeros(digest, position - end)
                digest.update(written)
                end = position + len(written)
    return digest.hexdigest()


def _without_trailing_zeros(block: bytes) -> bytes:
    """Same as `rstrip` of zero bytes, which is slower: it looks at one byte after another."""
    end = len(block)
    for run in _ZERO_RUNS:
        while block.endswith(run, 0, end):
            end -= len(run)
    return block[:end].rstrip(b"\0")


def _add_zeros(digest: xxhash.xxh3_128, count: int) -> None:
    for start in range(0, count, BLOCK):
        digest.update(_ZEROS[: min(BLOCK, count - start)])
