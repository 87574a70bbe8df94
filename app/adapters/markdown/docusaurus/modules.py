"""The values that the JavaScript modules of a Docusaurus site export and import."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.docusaurus.javascript import parse_json, read_module
from app.adapters.markdown.site_map import table
from app.domain.errors import BookError

_IMPORT = re.compile(
    r"(?:import|const|let|var)\s++(?:(?P<default>[\w$]++)\s*+,?+\s*+)?(?:\{(?P<named>[^{}]*+)\}\s*+)?"
    r"(?:from\s*+|=\s*+require\(\s*+)[\"'](?P<path>\.{1,2}/[^\"'\n]++)[\"']"
)
_NAME = re.compile(r"(?P<name>[\w$]+)(?:(?:\s+as\s+|\s*:\s*)(?P<local>[\w$]+))?")
_SUFFIXES = ("", ".js", ".ts", ".mjs", ".cjs", ".mts", ".json", "/index.js", "/index.ts")


_MOST_MODULES = 50
"""More are not read: they import one another recursively."""


class Modules:
    """Reads each module once; a module that is imported while it is read has no values yet."""

    def __init__(self, book_files: BookFiles) -> None:
        self._book_files = book_files
        self._read: dict[str, dict[str, object]] = {}
        self.text = ""
        """The source of all modules that were read."""

    def default(self, file: str) -> object:
        """Return the value that a module exports by default."""
        return self._names(file).get("default")

    def _names(self, file: str) -> dict[str, object]:
        if file not in self._read and len(self._read) < _MOST_MODULES:
            self._read[file] = {}
            text = self._book_files.settings(file)
            self.text += text
            if file.endswith(".json"):
                self._read[file] = {"default": parse_json(text)}
            else:
                self._read[file] = read_module(text, dict(self._imported(file, text)))
        return self._read.get(file, {})

    def _imported(self, file: str, text: str) -> Iterator[tuple[str, object]]:
        """Yield the local name and the value of each import from the site's own modules."""
        for found in _IMPORT.finditer(text):
            places = (found["path"] + suffix for suffix in _SUFFIXES)
            target = self._book_files.first(folder_of(file), places)
            if target is None:
                continue
            try:
                names = self._names(target)
            except BookError:
                continue  # it holds data of a page, not settings
            if found["default"]:
                yield found["default"], names.get("default")
            for each in _NAME.finditer(found["named"] or ""):
                name = each["name"]
                value = names[name] if name in names else table(names, "default").get(name)
                yield each["local"] or name, value
