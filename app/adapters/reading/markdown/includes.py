"""The files that a page includes, whole or in part: of mdBook, MkDocs, GitBook, Hugo, VitePress."""

import re
from collections.abc import Callable, Sequence
from posixpath import dirname, join, normpath, splitext
from typing import TypeAlias

from app.domain.document import Site
from app.domain.fences_and_tables import fenced

_FILE = r"(?P<file>[^\s\"':*!{}]++):?(?P<part>[\w:-]*+)[^{}\n]*+"
INCLUDES = {
    Site.MDBOOK: re.compile(rf"(?<!\\)(?P<indent>)\{{\{{\s*#\w*include\s+{_FILE}\}}\}}"),
    Site.MKDOCS: re.compile(
        rf"^(?P<indent>[ \t]*)(?:-+8<-+ [\"']|\{{[*!]>? *){_FILE}\}}?", re.MULTILINE
    ),
    Site.PLAIN: re.compile(
        r"^(?P<indent>[ \t]*)(?:\{{1,2}% *include +\"(?P<file>[^\s\"%]+\.md)\" *%\}{1,2}"
        r"|(?:<<<|@\[code[^\]\n]*\]\()[ ]?(?P<root>@/?)?(?P<listing>[\w./-]+)"
        r"#?(?P<part>[\w-]*)[^\n]*)",
        re.MULTILINE,
    ),
}
"""Lines or, with mdBook, places of a line that stand for a file or a part of it. VitePress (`<<<`)
and VuePress (`@[code]`) show it as a listing."""
_MARK = r"(?:\bANCHOR{}: *|8<-+ *\[{}: *|#{}region +){}"
_PART = _MARK + r"[^\n]*\n(.*?)(?:(?<=\n)[^\n]*" + _MARK + r"|\Z)"
_ANY_MARK = re.compile(_MARK.format("(?:_END)?", "(?:start|end)", "(?:end)?", ""))
_DEEPEST = 8
"""How deep files may include files."""

Include: TypeAlias = Callable[[str], str | None]
"""Returns the text of a file of the book; None if it cannot be read."""


def with_includes(
    lines: Sequence[str], file: str, site: Site, include: Include, depth: int = 0
) -> Sequence[str]:
    """Return the lines, each with what it includes; one whose file cannot be read stays."""
    pattern = INCLUDES.get(site)
    if pattern is None or depth == _DEEPEST:
        return lines

    def content(found: re.Match[str]) -> str:
        given = found.groupdict()
        folder = "" if site is Site.MKDOCS or given.get("root") else dirname(file)
        name = normpath(join(folder, given["file"] or given["listing"])).lstrip("/")
        text = include(name)
        part = _part(text, given["part"] or "") if text is not None else None
        if part is None:
            return found[0]
        if not given["file"]:
            part = fenced("\n".join(part), splitext(name)[1][1:]).split("\n")
        whole = with_includes(part, name, site, include, depth + 1)
        return "\n".join(found["indent"] + one for one in whole)

    return [pattern.sub(content, one) for one in lines]


def _part(text: str, part: str) -> list[str] | None:
    """Return the lines `2`, `2:5`, `2:` or `:5`, those between marks of this name, or all."""
    first, colon, last = part.partition(":")
    if part and not (first + last).isdigit():
        name = rf"{re.escape(part)}\b"
        marks = _PART.format("", "start", "", name, "_END", "end", "end", name)
        found = re.search(marks, text, re.DOTALL)
        text, first, last = found[1] if found else "", "", ""
    at = int(first or 1) - 1
    end = (int(last) if last else None) if colon or not first else at + 1
    return [one for one in text.splitlines()[at:end] if not _ANY_MARK.search(one)] or None
