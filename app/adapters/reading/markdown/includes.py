"""mdBook's includes: `{{#include file:3:7}}`, `{{#include file:anchor}}` and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from app.adapters.reading.source_files import SourceFiles
from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET

_DIRECTIVE = re.compile(
    r"(?<!\\)\{\{\s*#(?:include|rustdoc_include|playground|playpen)\s+"
    r"(?P<target>(?P<file>[^:}\s]+)(?::(?P<first>[\w-]*))?(?::(?P<last>\d*))?)[^}]*\}\}"
)
_ANCHOR = re.compile(r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)")
_DEPTH = 10
"""mdBook's own limit on nested includes."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A page's text with its includes."""

    text: str
    origins: Sequence[int] = ()
    """For each line the number of the page's own line, from 0; empty if nothing is included."""


def expand(text: str, file: str, files: SourceFiles) -> Expanded:
    """Insert the files that a page includes; the directive of one that cannot be read stays.

    FileRefused if there are too many or they are long.
    """
    if "{{" not in text:
        return Expanded(text, range(text.count("\n") + 1))
    lines: list[str] = []
    origins: list[int] = []
    includes, size = count(1), 0
    for number, line in enumerate(text.split("\n")):
        for one in _expanded(line, file, files, (), includes):
            lines.append(one)
            origins.append(number)
            size += len(one) + 1
            if size > len(text) + BUDGET.included:
                message = f"includes over {BUDGET.included:,} characters: include less"
                raise FileRefused(message, file, number + 1)
    return Expanded("\n".join(lines), origins)


def _expanded(
    line: str, file: str, files: SourceFiles, above: tuple[str, ...], includes: Iterator[int]
) -> Iterator[str]:
    """Yield a line with its includes; one of a file that is being included stays as it is."""
    found = _DIRECTIVE.search(line) if "{{" in line and len(above) < _DEPTH else None
    name = files.beside(file, found["file"]) if found else ""
    lines = _lines(files, name) if found and found["target"] not in above else None
    if found is None or lines is None:
        yield line
        return
    if next(includes) > BUDGET.includes:
        message = f"one include too many, over {BUDGET.includes:,} on one page: include less"
        raise FileRefused(message, file)
    if lines := _selected(lines, found["first"] or "", found["last"]):
        lines = [line[: found.start()] + lines[0], *lines[1:]]
        lines[-1] += line[found.end() :]
    for one in lines:
        yield from _expanded(one, name, files, (*above, found["target"]), includes)


def _lines(files: SourceFiles, name: str) -> list[str] | None:
    """Return the lines of an included file; None if it cannot be read."""
    try:
        text = files.text(name)
    except BookError:
        return None
    files.partials.add(name)
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")


def _selected(lines: list[str], first: str, last: str | None) -> list[str]:
    """Return the lines of a range or anchor, without the marks of anchors."""
    if first.isdecimal() or (not first and last):
        begin = max(int(first or 1) - 1, 0)
        lines = lines[begin : begin + 1 if last is None else int(last or len(lines))]
    elif first:
        lines = list(_between(lines, first))
    return [one for one in lines if not _ANCHOR.search(one)]


def _between(lines: Sequence[str], anchor: str) -> Iterator[str]:
    inside = False
    for line in lines:
        found = _ANCHOR.search(line)
        if found and found["name"] == anchor:
            inside = not found["end"]
        elif inside:
            yield line
