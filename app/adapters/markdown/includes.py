"""Includes: files whose text a directive or an import pulls into a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from app.adapters.markdown.source import decode
from app.domain.errors import BookError

MAX_DEPTH = 10
"""mdBook's own limit on nested includes."""

_DIRECTIVE = re.compile(
    r"(?P<escape>\\?)\{\{[ \t]*#(?P<name>include|rustdoc_include|playground|playpen)"
    r"[ \t]+(?P<argument>[^}\n]+)\}\}"
)
_ANCHOR_START = re.compile(r"ANCHOR:\s*(?P<name>[\w_-]+)")
_ANCHOR_END = re.compile(r"ANCHOR_END:\s*(?P<name>[\w_-]+)")

Warn = Callable[[str, int], None]
"""`warn(message, offset)`."""


class Library:
    """The files of a book's folder, read on demand; nothing outside of it is ever read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._resolved = root.resolve()
        self._texts: dict[str, str | None] = {}

    @property
    def root(self) -> Path:
        return self._root

    def locate(self, base: str, target: str) -> str | None:
        """Return the path, relative to the root, of `target` as seen from the folder `base`."""
        joined = _normal(
            PurePosixPath(target[1:] if target.startswith("/") else f"{base}/{target}")
        )
        if joined is None:
            return None
        path = self._root / joined
        try:
            inside = path.resolve().is_relative_to(self._resolved)
        except (OSError, ValueError, RuntimeError):
            return None
        return joined if inside and path.is_file() else None

    def text(self, file: str) -> str | None:
        """Return a file's text, or None if it cannot be read as UTF-8."""
        if file not in self._texts:
            try:
                self._texts[file] = decode((self._root / file).read_bytes(), file)
            except (OSError, BookError):
                self._texts[file] = None
        return self._texts[file]


def _normal(path: PurePosixPath) -> str | None:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts) if parts and "\0" not in str(path) else None


def folder_of(file: str) -> str:
    """Return the folder part of a relative path; "" at the top."""
    return file.rpartition("/")[0]


class MdBookIncludes:
    """mdBook's `{{#include file:range}}` inside text that is shown as it is."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def expand(self, text: str, file: str, offset: int, warn: Warn) -> tuple[str, str]:
        """Replace the directives in `text`; return it and the first file included.

        `offset` is where `text` stands, for warnings. A directive that cannot be resolved is
        dropped with a warning.
        """
        if "{{" not in text:
            return text, ""
        included: list[str] = []
        expanded = self._expand(text, file, (file,), lambda why: warn(why, offset), included)
        return expanded, included[0] if included else ""

    def _expand(
        self,
        text: str,
        file: str,
        chain: tuple[str, ...],
        warn: Callable[[str], None],
        included: list[str],
    ) -> str:
        def replace(match: re.Match[str]) -> str:
            if match["escape"]:
                return match.group()[1:]
            path, start = self._slice(match["argument"], file, warn)
            if path is None:
                return ""
            if path in chain or len(chain) > MAX_DEPTH:
                warn(f"include of {path} goes in a circle: {' -> '.join((*chain, path))}")
                return ""
            included.append(path)
            return self._expand(start, path, (*chain, path), warn, included)

        return _DIRECTIVE.sub(replace, text)

    def section(self, argument: str, file: str, warn: Callable[[str], None]) -> tuple[str, str]:
        """Return the path and text that an include's argument names; ("", "") if there is none."""
        path, text = self._slice(argument, file, warn)
        return path or "", text

    def _slice(
        self, argument: str, file: str, warn: Callable[[str], None]
    ) -> tuple[str | None, str]:
        target, _, selector = (
            argument.split(maxsplit=1)[0].partition(":") if argument.split() else ("", "", "")
        )
        path = self._library.locate(folder_of(file), target)
        if path is None:
            warn(f"included file not found: {target}")
            return None, ""
        text = self._library.text(path)
        if text is None:
            warn(f"included file is not UTF-8 text: {target}")
            return None, ""
        lines = text.splitlines()
        chosen = select_lines(lines, selector)
        if chosen is None:
            warn(f"included file {target} has no anchor {selector}")
            return None, ""
        return path, "\n".join(chosen)


def select_lines(lines: list[str], selector: str) -> list[str] | None:
    """Return the lines that mdBook's `N`, `N:`, `:M`, `N:M` or anchor name choose.

    Lines count from 1, both ends included. None if there is no such anchor.
    """
    if not selector:
        return lines
    first, colon, last = selector.partition(":")
    if (not first or first.isdigit()) and (not last or last.isdigit()):
        start = max(int(first) - 1, 0) if first else 0
        if not colon:
            return lines[start : start + 1]
        return lines[start : int(last)] if last else lines[start:]
    return _anchored(lines, selector)


def _anchored(lines: list[str], name: str) -> list[str] | None:
    chosen: list[str] = []
    found = inside = False
    for line in lines:
        end = _ANCHOR_END.search(line)
        start = None if end else _ANCHOR_START.search(line)
        if end:
            inside = inside and end["name"] != name
        elif start:
            if start["name"] == name:
                found = inside = True
        elif inside:
            chosen.append(line)
    return chosen if found else None
