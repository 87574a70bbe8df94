"""What a generation on a server must hold: stored beside its points, and compared with them."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.errors import IndexUnreadable
from app.domain.indexed_book import IndexPoint


def checksum(point: IndexPoint) -> str:
    """Return a 128-bit hash of the chunk with its id, the sparse vector, and the signs of the dense
    one, in hex.

    Stores scale dense vectors to length 1 and sort the terms of sparse ones; both keep the hash.
    """
    digest = hashlib.blake2b(repr(point.chunk).encode(), digest_size=16)
    terms = sorted(zip(point.sparse.indices, point.sparse.values, strict=True))
    digest.update(array("I", [term for term, _ in terms]).tobytes())
    digest.update(array("f", [value for _, value in terms]).tobytes())
    digest.update(bytes(value > 0 for value in point.dense))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Contents:
    """`files` has the number of chunks by file, `digest` the sum of the points' checksums."""

    files: Mapping[str, int]
    digest: str

    @property
    def chunks(self) -> int:
        return sum(self.files.values())

    @classmethod
    def from_json(cls, data: object, where: str) -> Contents:
        """IndexUnreadable, naming `where`, unless `asdict` of contents made `data`."""
        try:
            files = {str(file): int(count) for file, count in data["files"].items()}  # type: ignore[index]
            return cls(files, str(data["digest"]))  # type: ignore[index]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            message = f"{where}: damaged record of its chunks; ingest the book again"
            raise IndexUnreadable(message) from error


@dataclass(slots=True)
class ContentsCounter:
    """Counts the points of a generation while they are written or read, in any order."""

    _files: Counter[str] = field(default_factory=Counter)
    _sum: int = 0

    def add(self, point: IndexPoint) -> None:
        self._files[point.chunk.file] += 1
        self._sum = (self._sum + int(checksum(point), 16)) % 2**128

    def result(self) -> Contents:
        return Contents(dict(self._files), f"{self._sum:032x}")
