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
    r"(?P<escape>\\)?\{\{\s*#(?P<kind>include|rustdoc_include|playground|playpen)\s+(?P<target>[^}\s]+)[^}]*\}\}"
)
_TARGET = re.compile(r"(?P<file>[^:]+)(?::(?P<first>[\w-]*))?(?::(?P<last>\d*))?$")
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
    included = _included(found["target"], file, files) if found and not found["escape"] else None
    if found is None or included is None or found["target"] in above:
        yield line
        return
    if next(includes) > BUDGET.includes:
        message = f"one include too many, over {BUDGET.includes:,} on one page: include less"
        raise FileRefused(message, file)
    name, lines = included
    if lines:
        lines = [line[: found.start()] + lines[0], *lines[1:]]
        lines[-1] += line[found.end() :]
    for one in lines:
        yield from _expanded(one, name, files, (*above, found["target"]), includes)


def _included(target: str, file: str, files: SourceFiles) -> tuple[str, list[str]] | None:
    """Return the name and the lines of an included file; None if it cannot be read."""
    found = _TARGET.match(target)
    name = files.beside(file, found["file"]) if found else ""
    try:
        lines = files.text(name).replace("\r\n", "\n").rstrip("\n").split("\n")
    except BookError:
        return None
    files.partials.add(name)
    return name, _selected(lines, found["first"] or "", found["last"]) if found else lines


def _selected(lines: list[str], first: str, last: str | None) -> list[str]:
    """Return the lines of a range or anchor, without the marks of anchors."""
    if first.isdecimal() or (not first and last):
        begin = max(int(first or 1) - 1, 0)
        end = begin + 1 if last is None else int(last) if last else len(lines)
        chosen = lines[begin:end]
    elif first:
        chosen = list(_between(lines, first))
    else:
        chosen = lines
    return [one for one in chosen if not _ANCHOR.search(one)]


def _between(lines: Sequence[str], anchor: str) -> Iterator[str]:
    inside = False
    for line in lines:
        found = _ANCHOR.search(line)
        if found and found["name"] == anchor:
            inside = not found["end"]
        elif inside:
            yield line
