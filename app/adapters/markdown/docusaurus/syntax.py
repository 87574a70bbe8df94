"""MDX: ES modules, JSX expressions, imported files, heading ids and highlighted code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.includes import FilePart, Warn
from app.adapters.markdown.parser.anchors import BRACE_ID, COMMENT_ID, GITHUB, SlugPolicy
from app.adapters.markdown.parser.block_rules import emit, line_end
from app.adapters.markdown.parser.dialect import Dialect, InlineRule
from app.adapters.markdown.parser.drafts import Markup, MarkupClass
from app.adapters.markdown.parser.tags import TagScanner, string_literal, unescape_string
from app.adapters.markdown.source import SourceFile

_ESM = re.compile(
    r"(?:import\s*(?:[\"'{*]|[\w$]+\s*(?:,|\s+from\b))"
    r"|export\s+(?:const|let|var|function|default|class|async|type|interface|\{|\*))"
)
_HIGHLIGHT = re.compile(
    r"^[ \t]*(?://|#|--|%|;|\{?/\*|<!--)\s*"
    r"(?:highlight-next-line|highlight-start|highlight-end|prettier-ignore)"
    r"\s*(?:\*/\}?|-->)?[ \t]*$"
)
_CUT_ABOVE = re.compile(r"[ \t]*//[ \t]*---cut(?:-before)?---[ \t]*")
_CUT_BELOW = re.compile(r"[ \t]*//[ \t]*---cut-after---[ \t]*")
_TWOSLASH = re.compile(
    r"//[ \t]?@(?!(?:filename|log|error|warn|annotate):)\w+(?::.*)?|[ \t]*//[ \t]*\^[?|][ \t]*"
)
"""A line of Twoslash that only its compiler reads: an option, or the query of a type."""
_IMPORT = re.compile(
    r"(?:import\s+(?P<name>\w+)\s+)?from\s+[\"'](?P<raw>!!raw-loader!)?(?P<target>[^\"']+)[\"']"
)
_CODE_FILE = re.compile(
    r"(?<![^ ])file=(?P<path>(?:\\ |[^\s#])++)"
    r"(?:#L(?P<first>\d{1,9})(?:(?P<dash>-)(?:L(?P<last>\d{1,9}))?)?)?(?=\s|$)"
)
"""`file=path#L3-L6` of remark-code-import, also `#L3` and `#L3-`; a backslash precedes blanks."""
_URL = re.compile(r"https?://\S+")
_SUFFIXES = ("", ".js", ".jsx", ".ts", ".tsx", ".mdx", ".md", ".json", "/index.js", "/index.tsx")
"""File suffixes that an import may omit."""


def _esm(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read an `import` or `export`: to the next blank line, or to the end of its braces."""
    if silent or state.level or not _ESM.match(state.src, position):
        return False
    line = start + 1
    while line < end and not state.isEmpty(line):
        line += 1
    brace = state.src.find("{", position, state.eMarks[line - 1])
    if brace >= 0:
        closed = state.env["scanner"].brace_end(brace)
        while line < end and state.eMarks[line - 1] < closed:
            line += 1
    return emit(state, Markup(MarkupClass.ESM, position, state.eMarks[line - 1]), start, end)


def _expression(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read an expression or a comment that is a block of its own."""
    stop = state.env["scanner"].brace_end(position)
    if stop < 0 or stop > state.eMarks[end - 1]:
        return False
    if state.src[stop : line_end(state, stop)].strip():
        return False
    raw = state.src[position:stop]
    comment = raw[1:].lstrip().startswith("/*")
    kind = MarkupClass.COMMENT if comment else MarkupClass.EXPRESSION
    mark = Markup(kind, position, stop, name=raw[1:-1].strip(), argument=string_literal(raw))
    return silent or emit(state, mark, start, end)


def _inline_expression(state: StateInline, silent: bool) -> bool:
    scanner: TagScanner = state.env["inline_scanner"]
    end = scanner.brace_end(state.pos)
    if end < 0:
        return False
    if not silent:
        raw = state.src[state.pos : end]
        token = state.push("unquoted", "", 0)
        token.content = string_literal(raw)
        token.markup = raw[1:-1]
    state.pos = end
    return True


def _visible_code(text: str, _language: str, info: str) -> str:
    """Drop what Twoslash hides, and the comments that mark lines to highlight."""
    if "twoslash" in info.split():
        text = _without_twoslash(text)
    if "highlight-" not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not _HIGHLIGHT.match(line))


def _without_twoslash(text: str) -> str:
    """Drop the lines above and below its cuts, and those that only its compiler reads."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _CUT_BELOW.fullmatch(line):
            break
        if _CUT_ABOVE.fullmatch(line):
            lines.clear()
        elif not _TWOSLASH.fullmatch(line):
            lines.append(line)
    return "\n".join(lines).strip("\n")


def _code_file(
    info: str, text: str, site_root: str, warn: Callable[[str], None]
) -> FilePart | None:
    """Return the file of a code block that a plugin fills; warn if it is filled from elsewhere."""
    _, _, settings = info.strip().partition(" ")
    if "reference" in settings.split() and _URL.fullmatch(text.strip()):
        warn(f"code of another site is not fetched: {text.strip()}")
    if text.strip() or not settings:
        return None
    match = _CODE_FILE.search(settings)
    if match is None:
        warn(f"empty code block: its text is not in the book's files: {info.strip()}")
        return None
    path, first, last = match["path"].replace("\\ ", " "), match["first"], match["last"]
    for root in ("<rootDir>/", "@site/"):
        if path.startswith(root):
            path = f"/{site_root}/{path.removeprefix(root)}"
    begin = max(int(first or 1), 1)
    stop = int(last) if last else None if match["dash"] or not first else begin
    return FilePart(path, lambda lines: lines[begin - 1 : stop])


class _Imports:
    """The Markdown files and raw texts that one page imports."""

    def __init__(
        self, book_files: BookFiles, source: SourceFile, site_root: str, warn: Warn
    ) -> None:
        self._book_files = book_files
        self._source = source
        self._site_root = site_root
        self._warn = warn
        self.pages: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def read(self, tokens: Sequence[Token]) -> None:
        """Record the imports among these block tokens; warn about missing files."""
        for token in tokens:
            if token.type == "mark" and token.meta["found"].kind is MarkupClass.ESM:
                self._read_statements(token.meta["found"])

    def _read_statements(self, mark: Markup) -> None:
        text = self._source.flat[mark.start : mark.end]
        for match in _IMPORT.finditer(text):
            name, target = match["name"] or "", unescape_string(match["target"])
            path = self._locate(target)
            if path is None:
                if target.startswith(("./", "../", "@site/")) and not match["raw"]:
                    self._warn(self._problem(target), mark.start + match.start("target"))
            elif match["raw"] and name:
                self.texts[name] = path
            elif name[:1].isupper() and path.endswith((".md", ".mdx")):
                self.pages[name] = path

    def _based(self, target: str) -> tuple[str, str]:
        """Return the folder that an import is relative to, and the path from there."""
        if target.startswith("@site/"):
            return self._site_root, target[6:]
        return folder_of(self._source.file), target

    def _locate(self, target: str) -> str | None:
        base, path = self._based(target)
        return self._book_files.first(base, (path + suffix for suffix in _SUFFIXES))

    def _problem(self, target: str) -> str:
        base, path = self._based(target)
        refusals = (self._book_files.refusal(base, path + suffix) for suffix in _SUFFIXES)
        refusal = next(filter(None, refusals), "")
        return f"import {target} {refusal}" if refusal else f"import not found: {target}"


DIALECT = Dialect(
    directives=True,
    indented_code=False,
    heading_ids=(BRACE_ID, COMMENT_ID),
    block_rules=(("import", _esm), ("export", _esm), ("{", _expression)),
    inline_rules=(InlineRule("expression", "{", _inline_expression),),
    visible_code=_visible_code,
    code_file=_code_file,
    imports=_Imports,
)
STYLE = replace(GITHUB, policy=SlugPolicy(images=True, strip=False), title_has_none=True)
