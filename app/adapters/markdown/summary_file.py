"""Reads a SUMMARY.md, the table of contents of mdBook and GitBook."""

from __future__ import annotations

import re

from app.adapters.markdown.site_map import TocEntry

_LINK = re.compile(r"\[(?P<title>(?:[^\[\]\\]|\\.)*)\]\((?P<target>[^()\s]*)(?:\s+\"[^\"]*\")?\)")
_ITEM = re.compile(
    r"^(?P<indent>[ \t]*)(?P<marker>[-*+]|\d+[.)])?[ \t]*(?:\{:[^}]*\}[ \t]*)?(?P<rest>.*)$"
)


def summary_entries(text: str, *, numbered: bool = False) -> list[TocEntry]:
    """Read a SUMMARY.md: links by indentation, and headings or bare items as parts.

    `numbered`: whether the site numbers the links in lists.
    """
    entries: list[TocEntry] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ITEM.match(line)
        rest = match["rest"] if match else ""
        if not match or not rest:
            continue
        depth = len(match["indent"].expandtabs(4)) + 1
        in_list = match["marker"] is not None
        link = _LINK.search(rest)
        if link:
            title = re.sub(r"\\(.)|[`*_]", r"\1", link["title"]).strip()
            entries.append(TocEntry(link["target"], title, depth, number, numbered and in_list))
        elif line.startswith("#"):
            entries += _part_entries(line, number)
        elif re.match(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]", line):
            name = re.sub(r"[\[\]*_`]|\(\)", "", rest).strip()
            entries.append(TocEntry("", name, depth, number))
    return entries


def _part_entries(heading: str, number: int) -> list[TocEntry]:
    """Return the part that a heading begins; none for the title of the file."""
    part = heading.lstrip("# ").strip()
    return [TocEntry("", part, 0, number)] if number > 1 and part.lower() != "summary" else []
