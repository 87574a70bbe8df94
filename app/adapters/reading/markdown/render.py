"""Renders a page of Markdown to HTML whose block elements carry their source span."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache, partial
from html import escape
from posixpath import normpath
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, list_block, paragraph
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.amsmath import amsmath_block, amsmath_plugin
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.attrs.index import _attr_block_rule
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.gfm import gfm_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from rich.emoji import Emoji

from app.adapters.reading.documents import PageInfo
from app.adapters.reading.formulas import TAG as FORMULA
from app.adapters.reading.inline import UNKNOWN
from app.adapters.reading.markdown.callouts import callouts_plugin
from app.adapters.reading.markdown.directives import directives_plugin
from app.adapters.reading.markdown.headings import heading_ids, ids_of
from app.adapters.reading.markdown.includes import INCLUDES, Include, with_includes
from app.adapters.reading.markdown.tags import TAG, as_html, tags_plugin
from app.adapters.reading.markdown.unresolved import TEMPLATE, unresolved_plugin
from app.adapters.reading.tree import SPAN, marked
from app.domain.document import Site
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

_IMPORT = re.compile(r"^import [^\n]* from [\"']", re.MULTILINE)
_PYMDOWN = re.compile(
    r"(?P<icon>:(?:material|octicons|fontawesome|simple)-[\w-]{1,60}:(?:\{[^{}\n]{0,80}\})?[ \t]?)"
    r"|(?<![\w+])\+\+(?P<keys>[\w+-]{1,60})\+\+(?![\w+])"
    r"|(?<![\w=^\"'!<])(?P<mark>==|\^\^)(?=[^\s>])(?P<marked>[^=^\n]{1,300})(?<=\S)(?P=mark)(?![\w=^])"
)
"""Icons of Material for MkDocs, keys (`++ctrl++`), marked text (`==so==`)."""
_PYMDOWN_SIGN = re.compile("[:^=+]")
"""Each of them has one of these characters; most texts have none."""
_CODE_LANGUAGE = re.compile(r"\A#!\w+ ")
"""The language before code within a line, as PyMdown has it: `#!python x`."""
_EMOJI = re.compile(r"(?<![\w:]):[a-z\d][\w+-]+:(?![\w:])")
"""The shortcode of an emoji, if there is one of this name."""
_LINE_END = re.compile(r"\r\n?|\n")
_INFO = re.compile(r"^\{?\.?(?:language-)?(?P<language>[\w+#.-]+)(?![\w+#.=-])")
_TITLE = re.compile(r"(?:title|caption|file|filename)=(?:\"([^\"]+)\"|'([^']+)')")
_HIGHLIGHT = re.compile(
    r"^[^\n]*(?://|#|--|\{?/\*|<!--)\s*highlight-(?:next-line|start|end)\b[^\n]*\n?", re.MULTILINE
)
"""Docusaurus's comments that mark lines of a listing."""
_MARKUP = re.compile(r"[\n!$&*<@\[\\\]_`{~]")
"""The characters with which mark-up within a line begins; others are skipped at once."""
_NO_BLANKS = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""A letter or sign of Chinese, Japanese or Korean."""
_CODE_ROLES = frozenset("code kbd command file program option samp".split())
_TEXT_ROLES = frozenset("sub sup abbr term doc download dfn emphasis".split())
_MOST_INDENT = 3
"""Blanks before a line that is no code."""
_LONGEST_FORMULA = 200
"""Lines."""
_TOO_MUCH = "too much mark-up for its length: write less of it, or split the page"
_TOO_DEEP = f"nested over {BUDGET.depth} levels deep: nest less"
_HIDDEN_RUST = re.compile(r"^\s*#(?: .*)?$\n?", re.MULTILINE)


def render(
    source: str, site: Site, skip: int, info: PageInfo, include: Include
) -> tuple[str, list[str]]:
    """Render a page to HTML; return also the places that only the site's generator can resolve.

    `skip` is the length of its front matter. Spans in the HTML are code points of `source`; what a
    line includes has the line's.
    FileRefused, with the line, if it is nested too deeply or has too many tokens.
    """
    file = info.file
    is_mdx = site is Site.DOCUSAURUS or file.endswith(".mdx")
    md = parser(site, is_mdx)
    slug, again = ids_of(site, info.url)
    env: dict[str, Any] = {"unknown": [], "site": site, "file": file, "slug": slug}
    # The pages of doc-builder have no imports, and formulas with braces.
    env["mdx"] = site is Site.DOCUSAURUS or (is_mdx and bool(_IMPORT.search(source)))
    starts = [skip, *(end.end() for end in _LINE_END.finditer(source)), len(source)]
    front = sum(start <= skip for start in starts[1:]) if skip else 0
    lines = [""] * front + _LINE_END.split(source[skip:])
    whole = with_includes(lines, file, site, include)
    places = [
        start for start, one in zip(starts, whole, strict=False) for _ in range(one.count("\n") + 1)
    ]
    tokens = md.parse("\n".join(whole), env)
    if deep := next((one for one in tokens if one.level >= BUDGET.depth - 1), None):
        raise FileRefused(_TOO_DEEP, file, deep.map[0] + 1 if deep.map else 0)
    heading_ids(tokens, site, slug, again)
    _set_spans(tokens, source, [*places, len(source)])
    return md.renderer.render(tokens, md.options, env), env["unknown"]


def _without_marks(state: StateCore) -> None:
    """Remove marks of PyMdown's. A table's cell may say only "yes" by an icon: it keeps them."""
    before = ""
    for token in state.tokens:
        shown = r"\g<keys>\g<marked>" + r"\g<icon>" * (before == "td_open")
        for part in token.children or ():
            if part.type == "text" and _PYMDOWN_SIGN.search(part.content):
                part.content = _PYMDOWN.sub(shown, part.content)
            elif part.type == "code_inline":
                part.content = _CODE_LANGUAGE.sub("", part.content)
        before = token.type


def _text(_: object, tokens: Sequence[Token], index: int, *_options: object) -> str:
    """Render a text with emoji in place of their shortcodes, such as `:owl:`."""
    return escape(_EMOJI.sub(lambda one: Emoji.replace(one[0]), tokens[index].content), quote=False)


def _set_spans(tokens: Sequence[Token], source: str, starts: Sequence[int]) -> None:
    for token in tokens:
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        first, behind = token.map
        start = starts[min(first, len(starts) - 2)]
        end = starts[min(max(behind, bisect_right(starts, start)), len(starts) - 1)]
        text = source[start:end]
        start += len(text) - len(text.lstrip())
        end -= len(text) - len(text.rstrip())
        if start < end:
            token.attrSet(SPAN, f"{start}:{end}")


@cache
def parser(site: Site, is_mdx: bool) -> MarkdownIt:
    """Return the parser for a generator's Markdown."""
    md = (
        MarkdownIt("commonmark", {"html": True, "maxNesting": BUDGET.depth})
        .use(gfm_plugin)
        .use(deflist_plugin)
        .disable(["gfm_autolink_www", "gfm_autolink_protocol", "gfm_autolink_email"])
    )
    md.inline.terminator_re = _MARKUP
    md.inline.ruler.at("emphasis", _emphasis)
    md.use(tags_plugin).use(unresolved_plugin, is_mdx)
    md.use(attrs_plugin, spans=site is not Site.MDBOOK).use(attrs_block_plugin)
    md.block.ruler.at("attr", _attributes)
    md.use(dollarmath_plugin, allow_space=site is Site.MYST, allow_digits=False,
           double_inline=True).use(amsmath_plugin)  # fmt: skip
    md.block.ruler.at("amsmath", _bounded(amsmath_block, "\\begin{"))
    md.block.ruler.at("math_block", _bounded(math_block_dollar(allow_blank_lines=True), "$$"))
    if is_mdx:
        md.disable("code")  # MDX has no indented code
        ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
        md.block.ruler.at("list", partial(_indented, list_block), ends)
        md.block.ruler.at("paragraph", partial(_indented, paragraph))
    if site in (Site.MKDOCS, Site.PLAIN):
        md.core.ruler.push("marks", _without_marks)
        md.add_render_rule("text", _text)  # the ids of headings keep the names
    md.use(callouts_plugin)
    if site is Site.MYST:
        md.use(myst_block_plugin).use(myst_role_plugin)
    md.use(directives_plugin)
    md.block.ruler.before("table", "budget", _within_budget)
    for name, rule in _RULES.items():
        md.add_render_rule(name, rule)
    return md


def _attributes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a line of attributes. The plugin takes `{a} text {b}` for one too and loses its text."""
    line = state.src[state.bMarks[start] : state.eMarks[start]]
    return line.count("}") == 1 and _attr_block_rule(state, start, end, silent)


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Let asterisks beside Chinese, Japanese or Korean text begin or end emphasis.

    By CommonMark those behind a bracket end nothing if a letter follows, as it does where no blanks
    are written.
    """
    start = state.pos
    if not emphasis.tokenize(state, silent):
        return False
    before, behind = state.src[max(start - 1, 0) : start], state.src[state.pos : state.pos + 1]
    for one in state.delimiters[start - state.pos :] if state.src[start] == "*" else ():
        one.open = one.open or (_NO_BLANKS.match(before) is not None and bool(behind.strip()))
        one.close = one.close or (_NO_BLANKS.match(behind) is not None and bool(before.strip()))
    return True


def _indented(
    rule: Callable[..., bool], state: StateBlock, start: int, end: int, silent: bool
) -> bool:
    """Read what a component of MDX indents like code: other lines are as far in as the first."""
    indent = state.blkIndent
    if state.sCount[start] - indent > _MOST_INDENT:
        state.blkIndent = state.sCount[start]
    found = rule(state, start, end, silent)
    state.blkIndent = indent
    return found


def _within_budget(state: StateBlock, start: int, _end: int, _silent: bool) -> bool:
    """Raise FileRefused if there are too many tokens: markdown-it fills short rows with cells."""
    if len(state.tokens) > BUDGET.steps_of(state.src):
        raise FileRefused(_TOO_MUCH, state.env["file"], start + 1)
    return False


def _bounded(rule: Callable[..., bool], opening: str) -> Callable[..., bool]:
    """Bound a rule's search for the end of a formula that begins with `opening`."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        begins = state.src.startswith(opening, state.bMarks[start] + state.tShift[start])
        return begins and rule(state, start, min(end, start + _LONGEST_FORMULA), silent)

    return bounded


def _fence(_: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
    """Render a listing; its title is a paragraph before it."""
    token = tokens[index]
    info, code, site = token.info.strip(), token.content, env["site"]
    found = _INFO.match(info)
    language = found["language"] if found else ""
    if language == "rust" and site is Site.MDBOOK:
        code = _HIDDEN_RUST.sub("", code)
    if site is Site.DOCUSAURUS and "highlight-" in code:
        code = _HIGHLIGHT.sub("", code)
    pattern = INCLUDES.get(site)  # code of a plain folder may be about templates
    if pattern and site is not Site.PLAIN:  # of files that cannot be read
        env["unknown"] += [one.group().strip() for one in pattern.finditer(code)]
        code = pattern.sub(lambda one: normpath(f"/{one['file']}")[1:], code)
    attributes = RendererHTML.renderAttrs(token)
    title = _TITLE.search(info)
    shown = f"<p{attributes}>{escape(title[1] or title[2])}:</p>\n" if title else ""
    kind = f' class="language-{escape(language)}"' if language else ""
    listing = f'<pre{attributes} tabindex="0"><code{kind}>{escape(code)}</code></pre>'
    return f'{shown}<figure class="code">{listing}</figure>\n'


def _formula(_: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
    token = tokens[index]
    display = "0" if token.type in ("math_inline", "math_single") else "1"
    token.attrs.pop("class", None)
    tex = token.content.strip()
    if env["site"] is Site.MDBOOK:  # for MathJax, its authors escape the end of a line
        tex = tex.replace(r"\\\\", r"\\")
    formula = f'<{FORMULA} display="{display}">{escape(tex)}</{FORMULA}>'
    return f"<p{RendererHTML.renderAttrs(token)}>{formula}</p>\n" if token.block else formula


def _html_block(
    _: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType
) -> str:
    token = tokens[index]
    is_jsx = "{" in token.content and env["mdx"]
    html = as_html(token.content) if is_jsx else token.content
    env["unknown"] += TEMPLATE.findall(TAG.sub("", html))  # one in an address is no text
    html = TEMPLATE.sub("", html)
    span = str(token.attrs.get(SPAN, ""))
    return marked(html.encode("utf-8", "replace"), span).decode() if span else html


def _role(_: object, tokens: Sequence[Token], index: int, _options: object, env: EnvType) -> str:
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
    env["unknown"].append(f"{{{name}}}`{text}`")
    return escape(text) if name in ("ref", "numref") else f"<{UNKNOWN}></{UNKNOWN}>"


_RULES: dict[str, Callable[..., str]] = {
    **dict.fromkeys(("fence", "colon_fence", "code_block"), _fence),
    **dict.fromkeys(("math_inline", "math_single", "math_inline_double"), _formula),
    **dict.fromkeys(("math_block", "math_block_label", "math_block_eqno", "amsmath"), _formula),
    "html_block": _html_block,
    "myst_role": _role,
    **dict.fromkeys(("myst_line_comment", "myst_block_break", "myst_target"), lambda *_: ""),
}
