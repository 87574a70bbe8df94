"""Where fetched pages are kept: a folder of pages, and a record of what the server sent."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

_RESUMED_WITHIN = 86_400
"""Seconds after which the pages of an interrupted run are asked for again."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Stored:
    """A page that is kept, its validators, and the run that last saw it."""

    file: str
    etag: str
    modified: str
    run: float


class FetchRecord:
    """The pages of a site. A killed run loses none: each is recorded as soon as it is written."""

    def __init__(self, folder: Path, now: float) -> None:
        """Open the record at a time in seconds, which names the run unless one is continued."""
        self.pages = folder / "pages"
        self.pages.mkdir(parents=True, exist_ok=True)
        self._path, self._unfinished = folder / "record.jsonl", folder / "unfinished"
        self._stored = {one.file: one for one in self._read()}
        begun = float(self._unfinished.read_text() or 0) if self._unfinished.exists() else 0.0
        self.run = begun if now - begun < _RESUMED_WITHIN else now
        self._unfinished.write_text(str(self.run))

    def _read(self) -> list[Stored]:
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        # A killed run may have left half a line.
        return [Stored(**json.loads(line)) for line in lines if line.endswith("}")]

    def find(self, file: str) -> Stored | None:
        """Return the record of a page that is kept."""
        found = self._stored.get(file)
        return found if found and (self.pages / file).is_file() else None

    def keep(self, page: Stored, data: bytes | None = None) -> None:
        """Write a page; without `data` the kept one is unchanged. OSError if it cannot be."""
        path = self.pages / page.file
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(data)
            part.replace(path)
        self._stored[page.file] = page
        with self._path.open("a", encoding="utf-8") as opened:
            opened.write(f"\n{json.dumps(asdict(page))}\n")

    def finish(self, kept: Collection[str]) -> None:
        """Delete the pages that the site no longer has, and write the record of the others."""
        for file in self._stored.keys() - kept:
            (self.pages / file).unlink(missing_ok=True)
            del self._stored[file]
        part = self._path.with_suffix(".part")
        part.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in self._stored.values()))
        part.replace(self._path)
        self._unfinished.unlink()


def file_for(path: str) -> str:
    """Return the file for a page's path below the site's root; "" if none can have its name."""
    name = unquote(path)
    if not name or name.endswith("/"):
        name += "index.html"
    elif not name.lower().endswith((".html", ".htm", ".xhtml")):
        name += ".html"
    parts = name.encode(errors="replace").split(b"/")
    is_safe = all(part[:1] != b"." and len(part) <= _LONGEST_NAME for part in parts)
    is_plain = normpath(name) == name and name[0] != "/" and name.isprintable()
    return name if is_safe and is_plain and "\\" not in name else ""
