"""Renders a page of Markdown to HTML whose block elements carry their source span."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import accumulate
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.amsmath import amsmath_block, amsmath_plugin
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.gfm import gfm_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from mdit_py_plugins.texmath import texmath_plugin

from app.adapters.reading.blocks import SPAN
from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.inline import UNKNOWN
from app.adapters.reading.markdown.containers import containers_plugin
from app.adapters.reading.markdown.directives import directives_plugin
from app.adapters.reading.markdown.headings import heading_ids
from app.adapters.reading.markdown.includes import Expanded
from app.adapters.reading.markdown.tags import as_html, tags_plugin
from app.adapters.reading.markdown.unresolved import unresolved_plugin
from app.adapters.reading.stamping import marked
from app.domain.document import Site
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

_LINE_END = re.compile(r"\r\n?|\n")
_INFO = re.compile(r"^\{?\.?(?P<language>[\w+#.-]+)(?![\w+#.=-])")
_TITLE = re.compile(r"(?:title|caption|file|filename)=(?:\"([^\"]+)\"|'([^']+)')")
_HIGHLIGHT = re.compile(
    r"^[^\n]*(?://|#|--|\{?/\*|<!--)\s*highlight-(?:next-line|start|end)\b[^\n]*\n?", re.MULTILINE
)
"""Docusaurus's comments that mark lines of a listing."""
_MARKUP = re.compile(r"[\n!$&*<@\[\\\]_`{~]")
"""The characters with which mark-up within a line begins; others are skipped at once."""
_CODE_ROLES = frozenset("code kbd command file program option samp".split())
_TEXT_ROLES = frozenset("sub sup abbr term doc download dfn emphasis".split())
_LONGEST_FORMULA = 200
"""Lines."""
_TOO_MUCH = "too much mark-up for its length: write less of it, or split the page"
_TOO_DEEP = f"nested over {BUDGET.depth} levels deep: nest less"
_INCLUDE = {
    Site.MDBOOK: re.compile(r"(?<!\\)\{\{\s*#\w+\s+(?:\.\./)*+([^{}\s:]++)[^{}\n]*+\}\}"),
    Site.MKDOCS: re.compile(r"^[ \t]*-+8<-+ [\"'](?:\.\./)*+([^\"':\n]++)[^\n]*", re.MULTILINE),
}
"""Includes that are left in a listing, and the files that they name."""
_HIDDEN_RUST = re.compile(r"^\s*#(?: .*)?$\n?", re.MULTILINE)
_AQUASCOPE = re.compile(r"`[\[({][^`\n]*[\])}]`|^#(?![!\[]).*\n?", re.MULTILINE)
"""In a drawn listing of mdbook-aquascope: marks of places, and lines that it hides."""


@dataclass(slots=True)
class Rendered:
    """A page as HTML, and what the renderer did not understand."""

    html: str
    unknown: list[tuple[int, str]] = field(default_factory=list)
    """(line from 1, the text) of each place that only the site's generator can resolve."""


def render(
    source: str,
    site: Site,
    skip: int = 0,
    file: str = "",
    expand: Callable[[str], Expanded] = Expanded,
    *,
    jsx: bool = False,
) -> Rendered:
    """Render a page; `skip` is the length of its front matter, `jsx` says that it is MDX.

    `expand` inserts included files. Spans in the HTML are code points of `source`. FileRefused,
    with the line, if it is nested too deeply or has too many tokens.
    """
    md = parser(site, jsx)
    env: dict[str, Any] = {"unknown": [], "site": site, "file": file}
    blank = "\n" * _LINE_END.sub("\n", source[:skip]).count("\n")
    text = blank + _LINE_END.sub("\n", source[skip:])
    expanded = expand(text)
    text, origins = expanded.text, expanded.origins
    tokens = md.parse(text, env)
    if deep := next((one for one in tokens if one.level >= BUDGET.depth - 1), None):
        line = deep.map[0] if deep.map else 0
        raise FileRefused(_TOO_DEEP, file, origins[line] + 1 if origins else line + 1)
    heading_ids(tokens, site)
    starts = [0, *accumulate(len(line) for line in _lines(source))]
    _set_spans(tokens, source, starts, origins)
    html = md.renderer.render(tokens, md.options, env)
    unknown = [_placed(line, what, text, origins) for line, what in env["unknown"]]
    return Rendered(html, sorted(set(unknown)))


def _placed(line: int, what: str, text: str, origins: Sequence[int]) -> tuple[int, str]:
    """Return the page's own line of a place, which is searched for if it is not known."""
    line = line or text.count("\n", 0, max(text.find(what), 0)) + 1
    return (origins[line - 1] + 1 if line <= len(origins) else line), what


def _lines(source: str) -> list[str]:
    lines, at = [], 0
    for end in _LINE_END.finditer(source):
        lines.append(source[at : end.end()])
        at = end.end()
    return [*lines, source[at:]]


def _set_spans(
    tokens: Sequence[Token], source: str, starts: Sequence[int], origins: Sequence[int]
) -> None:
    last = len(starts) - 1
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        first, behind = token.map
        if origins:
            first = origins[min(first, len(origins) - 1)]
            behind = origins[min(max(behind, 1), len(origins)) - 1] + 1
        start, end = starts[min(first, last)], starts[min(behind, last)]
        text = source[start:end]
        start += len(text) - len(text.lstrip())
        end -= len(text) - len(text.rstrip())
        if start < end:
            token.attrSet(SPAN, f"{start}:{end}")


@cache
def parser(site: Site, jsx: bool = False) -> MarkdownIt:
    """Return the parser for a generator's Markdown."""
    md = (
        MarkdownIt("commonmark", {"html": True, "maxNesting": BUDGET.depth})
        .use(gfm_plugin)
        .use(deflist_plugin)
        .disable(["gfm_autolink_www", "gfm_autolink_protocol", "gfm_autolink_email"])
    )
    md.inline.terminator_re = _MARKUP
    md.use(tags_plugin).use(unresolved_plugin)
    md.use(attrs_plugin, spans=site is not Site.MDBOOK).use(attrs_block_plugin)
    if site is Site.MDBOOK:
        md.use(texmath_plugin, delimiters="brackets")
    else:
        md.use(dollarmath_plugin, allow_space=site is Site.MYST, allow_digits=False,
               double_inline=True)  # fmt: skip
        md.use(texmath_plugin, delimiters="brackets").use(amsmath_plugin)
        md.block.ruler.at("amsmath", _environment)
    if jsx or site is Site.DOCUSAURUS:
        md.disable("code")  # MDX has no indented code
    if site is Site.MYST:
        md.use(myst_block_plugin).use(myst_role_plugin).use(colon_fence_plugin)
    else:
        md.use(admon_plugin).use(containers_plugin)
    md.use(directives_plugin)
    md.block.ruler.before("table", "budget", _within_budget)
    for name, rule in _RULES.items():
        md.add_render_rule(name, _method(rule))
    return md


def _method(rule: Callable[..., str]) -> Callable[..., str]:
    """Return a render rule as markdown-it calls it, with the renderer as first argument."""
    return lambda _renderer, *arguments: rule(*arguments)


def _within_budget(state: StateBlock, start: int, _end: int, _silent: bool) -> bool:
    """Raise FileRefused if there are too many tokens: markdown-it fills short rows with cells."""
    if len(state.tokens) > BUDGET.steps_of(state.src):
        raise FileRefused(_TOO_MUCH, state.env["file"], start + 1)
    return False


def _environment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a LaTeX environment; the search for its end is bounded."""
    return amsmath_block(state, start, min(end, start + _LONGEST_FORMULA), silent)


def _attributes(token: Token) -> str:
    return RendererHTML.renderAttrs(token)


def _fence(tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
    token = tokens[index]
    info = token.info.strip()
    found = _INFO.match(info)
    language = found["language"] if found else ""
    code = token.content
    if language == "rust" and env.get("site") is Site.MDBOOK:
        code = _HIDDEN_RUST.sub("", code)
    if language == "aquascope":
        language, code = "rust", _AQUASCOPE.sub("", code)
    if env.get("site") is Site.DOCUSAURUS and "highlight-" in code:
        code = _HIGHLIGHT.sub("", code)
    code = _with_missing_files(code, token, env)
    title = _TITLE.search(info)
    shown = f' title="{escape(title[1] or title[2])}"' if title else ""
    kind = f' class="language-{escape(language)}"' if language else ""
    return f"<pre{_attributes(token)}{kind}{shown}><code>{escape(code)}</code></pre>\n"


def _with_missing_files(code: str, token: Token, env: EnvType) -> str:
    """Put the names of files in place of the includes that are left in a listing; count them."""
    pattern = _INCLUDE.get(env["site"])
    if pattern is None:
        return code
    line = token.map[0] + 1 if token.map else 0
    env["unknown"] += [(line, one.group().strip()) for one in pattern.finditer(code)]
    return pattern.sub(r"\1", code)


def _formula(display: bool) -> Callable[..., str]:
    def rule(tokens: Sequence[Token], index: int, _options: object, _env: object) -> str:
        token = tokens[index]
        shown = "1" if display else "0"
        token.attrs.pop("class", None)
        tex = escape(token.content.strip())
        formula = f'<{FORMULA} display="{shown}">{tex}</{FORMULA}>'
        return f"<p{_attributes(token)}>{formula}</p>\n" if token.block else formula

    return rule


def _html_block(tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
    token = tokens[index]
    is_jsx = "{" in token.content and env.get("site") is Site.DOCUSAURUS
    html = as_html(token.content) if is_jsx else token.content
    span = str(token.attrs.get(SPAN, ""))
    return marked(html.encode("utf-8", "replace"), span).decode() if span else html


def _role(tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
    """Render a MyST role: its text, or what it names if it has a title of its own."""
    token = tokens[index]
    name, text = str(token.meta.get("name", "")), token.content
    if name in ("math", "eq"):
        return f'<{FORMULA} display="0">{escape(text)}</{FORMULA}>'
    if name in _CODE_ROLES:
        return f"<code>{escape(text)}</code>"
    title, _, target = text.partition("<")
    if target or name in _TEXT_ROLES:
        return escape(title.strip() or text)
    env["unknown"].append((0, f"{{{name}}}`{text}`"))
    return escape(text) if name in ("ref", "numref") else f"<{UNKNOWN}></{UNKNOWN}>"


_RULES: dict[str, Callable[..., str]] = {
    "fence": _fence,
    "colon_fence": _fence,
    "code_block": _fence,
    "math_inline": _formula(False),
    "math_inline_double": _formula(True),
    "math_single": _formula(False),
    "math_block": _formula(True),
    "math_block_label": _formula(True),
    "math_block_eqno": _formula(True),
    "amsmath": _formula(True),
    "html_block": _html_block,
    "myst_role": _role,
    "myst_line_comment": lambda *_: "",
    "myst_block_break": lambda *_: "",
    "myst_target": lambda *_: "",
}
