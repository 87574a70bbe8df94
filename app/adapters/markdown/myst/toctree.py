"""Sphinx's tables of contents: `toctree` directives, in MyST or reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.site_map import MARKDOWN_SUFFIXES, TocEntry, markdown_files
from app.domain.document import SourceWarning

MAX_DEPTH = 60
_FENCED = re.compile(r"^(?P<fence>`{3,}|:{3,})[ \t]*\{toctree\}[^\n]*\n", re.M)
_DOTTED = re.compile(
    r"^(?P<indent>[ \t]*)\.\. toctree::[^\n]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*\n?|[ \t]*\n)*)",
    re.M,
)
_TITLED = re.compile(r"^(?P<title>.+?)\s*<(?P<target>[^<>]+)>$")
_PAGES = (*MARKDOWN_SUFFIXES, ".rst", ".ipynb")


def toctree_entries(library: Library, folder: str, warnings: list[SourceWarning]) -> list[TocEntry]:
    """Follow the toctrees from the site's first page; targets come relative to `folder`."""
    reader = _Reader(library, folder, warnings)
    for name in ("index.md", "index.rst"):
        file = f"{folder}/{name}" if folder else name
        if library.text(file) is not None:
            return list(reader.entries(file, 0))
    return []


@dataclass(slots=True)
class _Reader:
    library: Library
    folder: str
    warnings: list[SourceWarning]
    seen: set[str] = field(default_factory=set)

    def entries(self, file: str, depth: int) -> Iterator[TocEntry]:
        text = self.library.text(file)
        if text is None or file in self.seen or depth > MAX_DEPTH:
            return
        self.seen.add(file)
        if file.endswith(MARKDOWN_SUFFIXES):
            yield TocEntry(file[len(self.folder) + 1 :] if self.folder else file, "", depth)
        dotted = file.endswith(".rst") or "{toctree}" not in text
        line, counted = 1, 0
        for start, body in _dotted(text) if dotted else _fenced(text):
            line, counted = line + text.count("\n", counted, start), start
            globs = re.search(r"^[ \t]*:glob:", body, re.M) is not None
            for number, raw in enumerate(body.split("\n"), line):
                for found in self._files(raw.strip(), file, number, globs):
                    yield from self.entries(found, depth + 1)

    def _files(self, entry: str, file: str, line: int, globs: bool) -> list[str]:
        """Return the files that a line of a toctree names; a warning if there is none."""
        if not entry or entry.startswith(":") or "://" in entry or entry == "self":
            return []
        titled = _TITLED.match(entry)
        target = titled["target"] if titled else entry
        # A path from the root begins with a slash.
        base = self.folder if target.startswith("/") else folder_of(file)
        target = target.lstrip("/")
        if globs and re.search(r"[*?\[]", target):
            joined = f"{base}/{target}" if base else target
            files = (found for found in markdown_files(self.library, base))
            return [found for found in files if fnmatchcase(found.rpartition(".")[0], joined)]
        names = (target, *(f"{target}{suffix}" for suffix in _PAGES))
        paths = (self.library.locate(base, name) for name in names)
        found = next((path for path in paths if path and path.endswith(_PAGES)), None)
        if found is None and target not in ("genindex", "modindex", "search"):
            message = f"listed in the table of contents but missing: {target}"
            self.warnings.append(SourceWarning(message, file, line))
        elif found is not None and found.endswith(".ipynb"):
            message = f"listed in the table of contents but is no Markdown file: {target}"
            self.warnings.append(SourceWarning(message, file, line))
            return []
        return [found] if found else []


def _dotted(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the body of each reStructuredText toctree begins, and the body."""
    return ((tree.start("body"), tree["body"]) for tree in _DOTTED.finditer(text))


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    """Yield the same of each MyST toctree; a fence that is not closed once is sought no more."""
    position, unclosed = 0, set()
    while opening := _FENCED.search(text, position):
        fence, position = opening["fence"], opening.end()
        if fence in unclosed:
            continue
        closing = re.compile(rf"^{fence}[ \t]*$", re.M).search(text, position)
        if closing is None:
            unclosed.add(fence)
        else:
            yield position, text[position : closing.start()]
            position = closing.end()
