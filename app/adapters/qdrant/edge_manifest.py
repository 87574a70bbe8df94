"""The manifest of a generation on disk, and the check of its files against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.adapters.qdrant.manifest import manifest_from_json, manifest_to_json
from app.adapters.qdrant.sealed_text import read_sealed, write_sealed
from app.adapters.qdrant.sparse_files import digest
from app.domain.errors import IndexUnreadable
from app.domain.indexed_book import BookManifest

FILE = "manifest"
SHARD = "shard"

_NAMED_FILES = 3
"""Maximum number of damaged files that a message names."""


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest with the size of each file of the shard and one hash of their content."""

    folder: Path
    manifest: BookManifest
    sizes: Mapping[str, int]
    """Bytes, by path relative to `folder`."""
    digest: str

    @classmethod
    def of(cls, folder: Path, manifest: BookManifest) -> StoredManifest:
        """Read every file of the shard in `folder`."""
        paths = sorted(path for path in (folder / SHARD).rglob("*") if path.is_file())
        sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
        return cls(folder, manifest, sizes, digest(paths))

    def write(self) -> None:
        manifest = manifest_to_json(self.manifest)
        data = {"manifest": manifest, "sizes": self.sizes, "digest": self.digest}
        write_sealed(self.folder / FILE, json.dumps(data, ensure_ascii=False))

    @classmethod
    def read(cls, folder: Path) -> StoredManifest:
        """IndexUnreadable if the manifest is missing, damaged or of another layout."""
        path = folder / FILE
        try:
            data = json.loads(read_sealed(path))
        except (FileNotFoundError, NotADirectoryError) as error:
            message = f"{path}: {error.strerror}; ingest the book again"
            raise IndexUnreadable(message) from error
        manifest = manifest_from_json(data["manifest"], str(path))
        return cls(folder, manifest, data["sizes"], data["digest"])

    def wrong_sizes(self) -> list[Path]:
        """The files that are missing, or whose size has changed."""
        return [
            path
            for name, size in self.sizes.items()
            if (path := self.folder / name) and _size(path) != size
        ]

    def check(self) -> None:
        """Read every byte. IndexUnreadable unless all is as it was published."""
        if wrong := self.wrong_sizes():
            raise self._damaged(wrong)
        if digest(self.folder / name for name in self.sizes) != self.digest:
            raise self._damaged([self.folder / SHARD])

    def _damaged(self, wrong: list[Path]) -> IndexUnreadable:
        more = f" and {len(wrong) - _NAMED_FILES} more" if len(wrong) > _NAMED_FILES else ""
        named = ", ".join(str(path.relative_to(self.folder)) for path in wrong[:_NAMED_FILES])
        return IndexUnreadable(f"{self.folder}: not as it was published: {named}{more}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return -1
