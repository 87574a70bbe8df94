"""Includes: files whose text becomes part of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

MAX_DEPTH = 10
"""mdBook's own limit on nested includes."""

Warn = Callable[[str, int], None]
"""`warn(message, position)`."""


_NEVER = re.compile(r"(?!)")
_URL = re.compile(r"https?://[^/\s]*+[^:\s]*+")
"""A URL that is included; a colon and lines or the name of a section may follow."""
_RANGE = r"(?:\d{1,9}:?|(?:\d{1,9})?:(?:\d{1,9})?)"
_RANGES = re.compile(rf"{_RANGE}(?:,{_RANGE}){{0,99}}", re.A)
"""Line numbers and ranges of lines."""
_SECTION_MARKS = (
    re.compile(r"ANCHOR:\s*(?P<name>[\w-]+)"),
    re.compile(r"ANCHOR_END:\s*(?P<name>[\w-]+)"),
)


@dataclass(frozen=True, slots=True)
class IncludeStyle:
    """How a site generator writes an include of text."""

    begins: tuple[str, ...] = ()
    """Every directive inside text contains one of these; empty if text has no directives."""
    directive: re.Pattern[str] = _NEVER
    """A directive inside text, with the groups `argument` and `escape`."""
    rewrite: Callable[[str], str] | None = None
    """Rewrites the other kinds of directives as those that `directive` matches."""
    sections: tuple[re.Pattern[str], re.Pattern[str]] = _SECTION_MARKS
    """The marks that begin and end a section of an included file, with the group `name`."""
    bases: tuple[str, ...] = ()
    """The folders or files that paths are relative to; if empty, the including file's folder."""
    keeps_unresolved: bool = False
    """Whether the page shows an unresolvable directive as written."""


NO_DIRECTIVES = IncludeStyle()


@dataclass(slots=True)
class Included:
    """Number and size of a page's includes so far, nested includes counted."""

    includes: int = 0
    characters: int = 0

    def add(self, text: str, path: str) -> None:
        """Count an include. FileRefused if the page exceeds its budget."""
        self.includes += 1
        self.characters += len(text)
        if self.includes > BUDGET.includes or self.characters > BUDGET.included:
            message = (
                f"one include too many: a page may include at most {BUDGET.includes:,} "
                f"texts and {BUDGET.included:,} characters; split the page"
            )
            raise FileRefused(message, path)


class TextIncludes:
    """Expands include directives in verbatim text. Nested includes are followed, cycles cut."""

    def __init__(
        self, book_files: BookFiles, style: IncludeStyle, included: Included | None = None
    ) -> None:
        self._book_files = book_files
        self._style = style
        self._included = included or Included()

    def expand(self, text: str, file: str, warn: Warn) -> tuple[str, str]:
        """Replace the directives in `text`; return it and the first file included.

        `warn(message, position)` gets the directive's position in `text`. A directive that cannot
        be resolved is kept or dropped as the style says; one that closes a cycle is dropped.
        """
        included: list[str] = []
        expanded = self._expand(text, file, (file,), warn, included)
        return expanded, included[0] if included else ""

    def _expand(
        self, text: str, file: str, chain: tuple[str, ...], warn: Warn, included: list[str]
    ) -> str:
        def replace(match: re.Match[str]) -> str:
            if match["escape"]:
                return match.group()[len(match["escape"]) :]

            def warn_here(message: str, _: int = 0) -> None:
                warn(message, match.start())

            path, chosen = self.section(match["argument"], file, warn_here)
            if not path:
                return match.group() if self._style.keeps_unresolved else ""
            if path in chain or len(chain) > MAX_DEPTH:
                warn_here(f"include of {path} forms a cycle: {' -> '.join((*chain, path))}")
                return ""
            included.append(path)
            return self._expand(chosen, path, (*chain, path), warn_here, included)

        if self._style.rewrite is not None:
            text = self._style.rewrite(text)
        return self._style.directive.sub(replace, text)

    def section(self, argument: str, file: str, warn: Warn) -> tuple[str, str]:
        """Return the path and text that an include's argument names; ("", "") if there is none."""
        words = argument.split()
        if url := _URL.match(argument.lstrip()):
            warn(f"included text of another site is not fetched: {url.group()}", 0)
            return "", ""
        target, _, selector = words[0].partition(":") if words else ("", "", "")
        path = self._located(target, file)
        if path is None:
            refusals = (self._book_files.refusal(base, target) for base in self._bases(file))
            warn(not_included(target, next(filter(None, refusals), "")), 0)
            return "", ""
        text = self._book_files.text(path)
        if text is None:
            warn(f"included file is not UTF-8 text: {target}", 0)
            return "", ""
        written = text.splitlines()
        # Selecting lines reads all of them.
        self._included.characters += len(written)
        lines = select_lines(written, selector, self._style.sections)
        if lines is None:
            warn(f"included file {target} has no section {selector}", 0)
            return "", ""
        chosen = "\n".join(lines)
        self._included.add(chosen, path)
        return path, chosen

    def _bases(self, file: str) -> Sequence[str]:
        return self._style.bases or (folder_of(file),)

    def _located(self, target: str, file: str) -> str | None:
        for base in self._bases(file):
            found = self._book_files.locate(base, target)
            if found is None and base.rpartition("/")[2] == target:
                found = self._book_files.locate("", base)
            if found is not None:
                return found
        return None


class FilePart(NamedTuple):
    """A part of a file that a code block shows."""

    target: str
    choose: Callable[[list[str]], list[str]]
    """The file's lines -> those that are shown."""


def not_included(target: str, refusal: str) -> str:
    """Return the warning for a file that is missing or refused."""
    return f"included file {target} {refusal}" if refusal else f"included file not found: {target}"


def is_number(text: str) -> bool:
    """Whether a selector's text is a line number."""
    return text.isdecimal() and len(text) < 10


def select_lines(
    lines: list[str], selector: str, marks: tuple[re.Pattern[str], re.Pattern[str]]
) -> list[str] | None:
    """Return the lines that `N`, `N:`, `:M`, `N:M`, several of these, or a section's name selects.

    Lines count from 1, both ends included. None if there is no such section.
    """
    if not selector:
        return lines
    if not _RANGES.fullmatch(selector):
        return _section_lines(lines, selector, *marks)
    chosen: list[str] = []
    for part in selector.split(","):
        first, colon, last = part.partition(":")
        start = max(int(first) - 1, 0) if first else 0
        stop = int(last) if last else len(lines)
        chosen += lines[start : stop if colon else start + 1]
    return chosen


def _section_lines(
    lines: list[str], name: str, begin: re.Pattern[str], finish: re.Pattern[str]
) -> list[str] | None:
    """Return the lines of a section without those that mark sections, as mdBook does."""
    chosen: list[str] = []
    found = inside = False
    for line in lines:
        if ended := finish.search(line):
            inside = inside and ended["name"] != name
        elif begun := begin.search(line):
            if begun["name"] == name:
                found = inside = True
        elif inside:
            chosen.append(line)
    return chosen if found else None
