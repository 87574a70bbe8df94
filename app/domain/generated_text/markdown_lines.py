"""Distinguishes lines of fenced code from prose, while an answer in Markdown is written.

Code is passed on unchanged, so every renderer must end a fence at the same line. In CommonMark a
fence also ends with its list item or quote. Therefore each line of a fence is indented at least as
far as the fence, a fence is closed where its quote ends, and other text that a renderer could parse
as a fence is escaped. A numbered line is escaped if it is uncertain whether it is a list item.

CommonMark: https://spec.commonmark.org/0.31.2/#container-blocks
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PREFIX = re.compile(r"[ \t>*+\-_#0-9.)]*(?:`+|~+)?")
_FENCE = re.compile(r"(`{3,})[^`\n]*\n?\Z|(~{3,})[^\n]*\n?\Z")
_QUOTE = re.compile(r" {0,3}(?:> ?)+ {0,3}")
_MARKER = re.compile(r"(?:[-*+]|(\d{1,9})[.)])(?=( +)[^ \n])")
_THEMATIC = re.compile(r"([-*_])(?: *\1){2,} *\n?\Z")
_HEADING = re.compile(r"#{1,6} ")
_TILDES = re.compile(r"[ \t>*+\-0-9.)]*(?=~{3})")
_CODE_INDENT = 4


@dataclass(frozen=True, slots=True)
class LineStart:
    """An edit of a line's start: keep `at` characters, then replace the next `cut` by `put`.

    The rest of the line is code or prose. If `again` is true, `put` ended the line, and the rest is
    classified as a new line.
    """

    code: bool
    at: int = 0
    cut: int = 0
    put: str = ""
    again: bool = False


_PROSE, _CODE = LineStart(code=False), LineStart(code=True)


@dataclass(frozen=True, slots=True)
class _Fence:
    run: str
    indent: int
    """Column of the fence; in a quote, relative to its prefix: 0."""
    quote: str = ""
    """Prefix of each line of the fence."""


class Lines:
    """Classifies the lines of an answer, one after another."""

    def __init__(self) -> None:
        self._fence: _Fence | None = None
        self._items: list[int] = []
        """Columns where the contents of the open list items start."""
        self._paragraph = False
        """Whether the previous line may be part of a paragraph."""

    def begin(self, line: str, whole: bool) -> LineStart | None:
        """Classify a line from its start, or the `whole` line; None if more text is needed."""
        if self._fence:
            return self._code(self._fence, line, whole)
        prefix = _PREFIX.match(line)
        at = prefix.end() if prefix else 0
        if not whole and (at == len(line) or line[max(0, at - 3) : at] in {"```", "~~~"}):
            return None
        return self._prose(line)

    def escape(self, line: str) -> LineStart:
        """Escape the start of a line that is too long to wait for, so that it starts no
        construct.
        """
        at = len(line) - len(line.lstrip(" \t"))
        if not self._fence:
            self._paragraph = True
            # Backticks are escaped with the prose.
            return LineStart(code=False, at=at, put="" if line[at:][:1] in {"", "`"} else "\\")
        return LineStart(code=True, cut=at, put=" " * self._fence.indent + "\\")

    def _prose(self, line: str) -> LineStart:
        wide = line.expandtabs(_CODE_INDENT)
        rest = wide.lstrip(" ")
        indent = len(wide) - len(rest)
        if not rest.strip():
            self._paragraph = False
            return _PROSE
        if rest[0] == ">":
            return self._quote(line)
        certain = not self._paragraph or (bool(self._items) and self._items[-1] > indent)
        self._items = [column for column in self._items if column <= indent]
        opened = self._open_items(rest, indent, certain=certain)
        if opened is None:
            # A list item after a heading or a table, but not in a paragraph: escape it.
            number = len(line) - len(line.lstrip(" \t0123456789"))
            return LineStart(code=False, at=number, put="\\")
        rest, indent = opened
        fence = _FENCE.match(rest) if self._relative(indent) < _CODE_INDENT else None
        if fence:
            self._fence = _Fence(fence[1] or fence[2], indent)
            return _CODE
        self._paragraph = not (_HEADING.match(rest) or _THEMATIC.match(rest))
        return _no_fence(line)

    def _open_items(self, rest: str, indent: int, *, certain: bool) -> tuple[str, int] | None:
        """Track the list items that start on this line; return the text after the markers and its
        column.

        None if it is not `certain` that the first marker starts an item.
        """
        while marker := self._marker(rest, indent):
            if not certain and marker[1] and int(marker[1]) != 1:
                return None
            certain = True
            blanks = len(marker[2])
            self._items.append(indent + marker.end() + (blanks if blanks <= _CODE_INDENT else 1))
            indent, rest = indent + marker.end() + blanks, rest[marker.end() + blanks :]
        return rest, indent

    def _marker(self, rest: str, indent: int) -> re.Match[str] | None:
        if self._relative(indent) >= _CODE_INDENT or _THEMATIC.match(rest):
            return None
        return _MARKER.match(rest)

    def _relative(self, indent: int) -> int:
        return indent - (self._items[-1] if self._items else 0)

    def _quote(self, line: str) -> LineStart:
        self._items.clear()
        self._paragraph = True
        quote = _QUOTE.match(line)
        fence = _FENCE.match(line, quote.end()) if quote else None
        if not quote or not fence:
            return _no_fence(line)
        self._fence = _Fence(fence[1] or fence[2], 0, quote.group())
        return _CODE

    def _unquoted(self, fence: _Fence, line: str, whole: bool) -> LineStart | None:
        """Classify a line without the prefix of the fence's quote, or with a part of it."""
        blank = line.rstrip() == fence.quote.rstrip()
        if not whole and (blank or fence.quote.startswith(line)):
            return None
        if blank:
            return _CODE
        self._end_fence()
        return LineStart(code=False, put=f"{fence.quote}{fence.run}\n", again=True)

    def _code(self, fence: _Fence, line: str, whole: bool) -> LineStart | None:
        if not line.startswith(fence.quote):
            return self._unquoted(fence, line, whole)
        start = len(fence.quote)
        rest = line[start:].lstrip(" \t")
        at = len(line) - len(rest)
        end = rest.lstrip(fence.run[0]).strip(" \t\n")
        if not whole and not end and not rest.endswith("\n"):
            return None
        if not rest.strip("\n"):
            return _CODE
        indent = len(line[start:at].expandtabs(_CODE_INDENT))
        closes = not end and rest.startswith(fence.run) and indent < fence.indent + _CODE_INDENT
        if closes:
            self._end_fence()
        if indent < fence.indent or (closes and indent > fence.indent):
            return LineStart(code=True, at=start, cut=at - start, put=" " * fence.indent)
        return _CODE

    def _end_fence(self) -> None:
        self._fence = None
        self._paragraph = False


def _no_fence(line: str) -> LineStart:
    """Escape tildes that a renderer could parse as a fence; backticks are escaped with the
    prose.
    """
    tildes = _TILDES.match(line)
    return LineStart(code=False, at=tildes.end(), put="\\") if tildes else _PROSE
