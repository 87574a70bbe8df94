"""Included files of MkDocs sites: snippets of PyMdown, and `{!path!}` of other extensions."""

from __future__ import annotations

import re
from dataclasses import replace

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.includes import IncludeStyle
from app.adapters.markdown.parser.block_rules import emit, mark_rule
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import Markup, MarkupClass

_SNIPPET = re.compile(r";*-+8<-+[ \t]+\"(?P<argument>[^\"\n]+)\"[ \t]*$", re.M)
_SNIPPETS = re.compile(r"-+8<-+[ \t]*\n(?P<paths>(?:[^\n]*\n)*?)[ \t]*-+8<-+[ \t]*$", re.M)
_INCLUDED = re.compile(
    r"\{![+-]?>?[ \t]*+(?P<path>[^\s\[\]|!\"][^\[\]|!\"\n]*+)"
    r"(?:\[ln:(?P<lines>[\d,-]++)\])?+[ \t]*+(?:\|[^!\n]*+)?+!\}[ \t]*$",
    re.M,
)
"""`{!path!}` and `{!path[ln:1-4,7] | encoding!}` of the extensions in `FILE_INCLUDES`."""
FILE_INCLUDES = frozenset({"mdx_include", "include"})
"""Names of these extensions: mdx_include and markdown_include."""
_SNIPPETS_IN_TEXT = re.compile(rf"^[ \t]*{_SNIPPETS.pattern}", re.M)
_INCLUDED_IN_TEXT = re.compile(rf"^[ \t]*{_INCLUDED.pattern}", re.M)

snippet = mark_rule(_SNIPPET, MarkupClass.INCLUDE, name="snippet")
"""Reads a directive with one file."""


def snippets(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read a directive that lists several files."""
    match = _SNIPPETS.match(state.src, position)
    if match is None or match.end() > state.eMarks[end - 1]:
        return False
    paths = "\n".join(line.strip() for line in match["paths"].splitlines() if line.strip())
    mark = Markup(MarkupClass.INCLUDE, position, match.end(), name="snippet", argument=paths)
    return silent or emit(state, mark, start, end)


def _included(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _INCLUDED.match(state.src, position)
    if match is None:
        return False
    argument = _as_snippet(match)
    mark = Markup(MarkupClass.INCLUDE, position, match.end(), name="snippet", argument=argument)
    return silent or emit(state, mark, start, end)


def _as_snippet(match: re.Match[str]) -> str:
    """Return the path and lines of `{!path[ln:1-4]!}` as a snippet has them: `path:1:4`."""
    lines = (match["lines"] or "").replace("-", ":")
    return f"{match['path'].strip()}:{lines}"


def _one_by_one(text: str) -> str:
    """Rewrite a directive with several snippets as one directive per snippet."""
    return _SNIPPETS_IN_TEXT.sub(
        lambda match: "\n".join(
            f'--8<-- "{path.strip()}"' for path in match["paths"].splitlines() if path.strip()
        ),
        text,
    )


def _as_snippets(text: str) -> str:
    """Rewrite includes of files and directives with several snippets as single snippets."""
    text = _INCLUDED_IN_TEXT.sub(lambda match: f'--8<-- "{_as_snippet(match)}"', text)
    return _one_by_one(text)


SNIPPETS = IncludeStyle(
    begins=("8<",),
    directive=re.compile(
        r"^[ \t]*(?P<escape>;?)-+8<-+[ \t]+\"(?P<argument>[^\"\n]+)\"[ \t]*$", re.M
    ),
    rewrite=_one_by_one,
    sections=(
        re.compile(r"-+8<-+[ \t]*\[start:[ \t]*(?P<name>[\w-]+)"),
        re.compile(r"-+8<-+[ \t]*\[end:[ \t]*(?P<name>[\w-]+)"),
    ),
    bases=("",),
)


def with_file_includes(dialect: Dialect) -> Dialect:
    """Return the dialect of a site with one of the extensions in `FILE_INCLUDES`."""
    includes = replace(dialect.includes, begins=("8<", "{!"), rewrite=_as_snippets)
    rules = (*dialect.block_rules, ("{", _included))
    return replace(dialect, includes=includes, block_rules=rules)
