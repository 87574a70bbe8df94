"""Where fetched pages are kept: a folder of pages, and a record of what the server sent."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from posixpath import normpath
from urllib.parse import unquote

_MAX_NAME = 1_000
"""Characters; `Path.mkdir` calls itself for each folder of a path."""
_RESUMED_WITHIN = 86_400
"""Seconds after which the pages of an interrupted run are asked for again."""


class FetchRecord:
    """The pages of a site. A killed run loses none: each is recorded as soon as it is written.

    With each page are the headers by which a server is asked for it only if it has changed.
    """

    def __init__(self, folder: Path) -> None:
        self.pages = folder / "pages"
        self.pages.mkdir(parents=True, exist_ok=True)
        self._path, self._unfinished = folder / "record.jsonl", folder / "unfinished.jsonl"
        self.seen = self._read(self._unfinished, time.time() - _RESUMED_WITHIN)
        """The pages of this run, or of the interrupted one that it continues, by file."""
        self.known = self._read(self._path) | self.seen

    def _read(self, path: Path, begun: float = 0.0) -> dict[str, dict[str, str]]:
        """Return file -> headers; nothing if the record is older than `begun` (epoch seconds)."""
        if not path.exists() or path.stat().st_mtime < begun:
            path.unlink(missing_ok=True)
            return {}
        # A killed run may have left half a line.
        lines = [line for line in path.read_text("utf-8").splitlines() if line.endswith("]")]
        found: dict[str, dict[str, str]] = dict(map(json.loads, lines))
        return {file: headers for file, headers in found.items() if (self.pages / file).is_file()}

    def keep(self, file: str, headers: Mapping[str, str], data: bytes | None = None) -> None:
        """Write a page; without `data` the kept one is unchanged. OSError if it cannot be."""
        path = self.pages / file
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            part.write_bytes(data)
            part.replace(path)
        self.seen[file] = {**headers}
        with self._unfinished.open("a", encoding="utf-8") as opened:
            opened.write(f"\n{json.dumps([file, self.seen[file]])}\n")

    def finish(self) -> None:
        """Delete the pages that the site no longer has."""
        for file in self.known.keys() - self.seen:
            (self.pages / file).unlink(missing_ok=True)
        self._unfinished.replace(self._path)


def file_for(path: str) -> str:
    """Return the file for a page's path below the site's root; "" if none can have its name."""
    name = unquote(path)
    if not name or name.endswith("/"):
        name += "index.html"
    elif not name.lower().endswith((".html", ".htm", ".xhtml")):
        name += ".html"
    is_plain = normpath(name) == name and name.isprintable() and "\\" not in name
    is_below = not name.startswith(("/", ".")) and "/." not in name
    return name if is_plain and is_below and len(name) <= _MAX_NAME else ""
