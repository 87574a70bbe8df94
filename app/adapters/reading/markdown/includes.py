"""mdBook's includes: `{{#include file:3:7}}`, `{{#include file:anchor}}` and their like.

Includes in included files are left as they are: only a build resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.adapters.reading.source_files import SourceFiles
from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET

_DIRECTIVE = re.compile(
    r"(?<!\\)\{\{\s*#(?:include|rustdoc_include|playground|playpen)\s+"
    r"(?P<file>[^:}\s]+)(?::(?P<first>[\w-]*))?(?::(?P<last>\d*))?[^}]*\}\}"
)
_ANCHOR = re.compile(r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)")


def expand(text: str, file: str, files: SourceFiles) -> tuple[str, list[int]]:
    """Insert the files that a page includes; the directive of one that cannot be read stays.

    Return also for each line the number of the page's own line, from 0. FileRefused if the files
    are long.
    """
    lines: list[str] = []
    origins: list[int] = []
    size = 0
    for number, line in enumerate(text.split("\n")):
        found = _DIRECTIVE.search(line) if "{{" in line else None
        inserted = _included(found, file, files) if found else None
        new = [line]
        if found and inserted is not None:
            new = f"{line[: found.start()]}{inserted}{line[found.end() :]}".split("\n")
            size += len(inserted)
        if size > BUDGET.included:
            message = f"includes over {BUDGET.included:,} characters: include less"
            raise FileRefused(message, file, number + 1)
        lines += new
        origins += [number] * len(new)
    return "\n".join(lines), origins


def _included(directive: re.Match[str], file: str, files: SourceFiles) -> str | None:
    """Return the lines of a file that are included; None if it cannot be read."""
    name = files.beside(file, directive["file"])
    try:
        lines = files.text(name).replace("\r\n", "\n").rstrip("\n").split("\n")
    except BookError:
        return None
    files.partials.add(name)
    first, last = directive["first"] or "", directive["last"]
    if first.isdecimal() or (not first and last):
        begin = max(int(first or 1) - 1, 0)
        lines = lines[begin : begin + 1 if last is None else int(last or len(lines))]
    elif first:
        lines = list(_between(lines, first))
    return "\n".join(one for one in lines if not _ANCHOR.search(one))


def _between(lines: Sequence[str], anchor: str) -> Iterator[str]:
    inside = False
    for line in lines:
        found = _ANCHOR.search(line)
        if found and found["name"] == anchor:
            inside = not found["end"]
        elif inside:
            yield line
