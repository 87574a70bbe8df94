"""What only the site's generator can resolve: it is left out of the text, counted and named."""

import re
from collections.abc import Sequence
from html import escape
from types import SimpleNamespace

from markdown_it import MarkdownIt, helpers
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.reading.formulas import FORMULA
from app.adapters.reading.inline import UNKNOWN
from app.domain.document import Site

UNRESOLVED = "unresolved"
"""Type of the token of what is left out of a line; a heading's id may need it."""
_SILENT = (
    r"(?P<silent>\{/\*.*?\*/\}|\{#\s[^{}]{0,400}#\}|`[^`\n]{1,200}`\{=\w+\}|\{% *(?:end)?raw *%\}"
    r"|(?:\{:|(?<=\*)\{ ?[#.][\w-]|(?<=\))\{ ?(?:\w+=\d+%|\. ))[^{}\n]{0,400}\}"
    r"|(?<=\))\{ ?alt=(?P<mark>['\"])(?P<alt>[^{}]{1,2000}?)(?P=mark)(?:\s[^{}\n]{0,400})?\}"
    r"|(?P<list>\{ ?[#.][\w-][^{}\n]{0,400}\}(?=[ \t]*(?:\n|\Z))))"
)
"""Within a line: comments of MDX and Jinja, raw code of Pandoc's, marks around text as it is,
attribute lists of kramdown and at its end those of MkDocs, the width and text of an image."""
_UNKNOWN = r"\{\{[<%][^{}]{0,400}[%>]\}\}|\{\{[^{}\n]{0,400}\}\}|\{%[^%\n]{0,1000}%\}"
TEMPLATE = re.compile(_UNKNOWN)
_DESTINATION = re.compile(
    rf"(?:[^\s(){{}}<>]*+(?:{_UNKNOWN}))++[^\s(){{}}<>]*+"
    r"|(?=[^\s()<>]++ [^'\"])[^(){}<>\"\n]{1,200}"
    r"\.(?:md|html|ipynb|png|jpe?g|gif|svg)(?=[#\s)])[^\s()]*"
)
"""A link's destination with a template in it, or a file's name with blanks, as MkDocs takes it."""
_PATH = re.compile(r"[\"']([^\"'\s]+)")
"""What a template names, as Jekyll's and Hugo's functions of addresses do."""
_IN_LINE = re.compile(rf"{_SILENT}|(?P<unknown>{_UNKNOWN})", re.DOTALL)
_SHORTCODE = re.compile(
    r"\{\{[<%] *(?P<name>math|katex)\b[^{}\n]*\}\}(?P<tex>.{1,400}?)\{\{[<%] */(?P=name) *[%>]\}\}",
    re.DOTALL,
)
"""Shortcodes of Hugo's themes round a formula; only MkDocs has brackets, escaped ones elsewhere."""
_IN_MDX = re.compile(
    rf"{_SILENT}|(?P<blank>\{{\s*(?P<quote>['\"`])\s*(?P=quote)\s*\}})"
    rf"|(?P<unknown>{_UNKNOWN}|\{{(?!#)[^{{}}\n]{{0,400}}\}})",
    re.DOTALL,
)
"""With the expressions of MDX; one that is a blank is often written at the end of a line."""
_ID = re.compile(r"\{[^{}]*#([^\s{}]+)")
_LINE = re.compile(
    r"(?:\{[#:/]if\b.*\}|\{:else\b.*\}|\*\[[^\]\n]+\]:.*|\[TOC\]|\[\[toc\]\]|\^+|:(?:begin|end)_tab:[^\n]*"
    r"|\{% *(?:raw|endraw|comment|endcomment) *%\}"
    r"|(?P<unknown>\{\{[^{}]*\}\}|\{%(?:(?!%\}).)*%\}|-{1,2}8<-{1,2} .*|\{([*!]).*\2\}"
    r"|::: +\w+(?:\.\w+)+|<<< ?[@./].*|@\[code.*))\s*$",
    re.IGNORECASE,
)
"""Conditions of doc-builder, abbreviations, tables of contents, carets that begin blocks, ends
of tabs; templates and files that cannot be read, and what mkdocstrings takes from source code."""
_ROLE = re.compile(r"(?<![\w:]):[A-Za-z][\w+-]*:\Z")
_ROLE_TEXT = re.compile(r"`[^`\n]+`")
"""A role as reStructuredText and d2lbook write it: :numref:`figure`."""
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]")
_MODULE = re.compile(
    r"(?:import|export)\s.*?(?=\n[ \t]*\n|\Z)|\{/\*.{0,4000}?\*/\}[ \t]*(?=\n|\Z)", re.DOTALL
)


def unresolved_plugin(md: MarkdownIt, is_mdx: bool) -> None:
    ends = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("fence", "unresolved", _line, ends)  # type: ignore[arg-type]
    if is_mdx:
        md.block.ruler.before("fence", "module", _module)
    md.inline.ruler.before("escape", "unresolved", _inline)
    md.helpers = SimpleNamespace(**vars(helpers) | {"parseLinkDestination": _destination})  # type: ignore[assignment]
    md.add_render_rule(UNRESOLVED, _shown)


def _destination(text: str, at: int, end: int) -> object:
    result = helpers.parseLinkDestination(text, at, end)
    if found := _DESTINATION.match(text, at, end):
        result.ok, result.pos, result.str = True, found.end(), TEMPLATE.sub(_path, found[0])
    return result


def _path(template: re.Match[str]) -> str:
    path = _PATH.search(template[0])
    return path[1] if path else ""


def _shown(_: object, tokens: Sequence[Token], index: int, *_options: object) -> str:
    """Render what is left out of a line: a gap, or the id that it gives to the block."""
    if tokens[index].meta["unknown"]:
        return f"<{UNKNOWN}></{UNKNOWN}>"
    ident = _ID.match(tokens[index].content)
    return f'<span id="{escape(ident[1])}"></span>' if ident else ""


def _line(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    begin = state.bMarks[start] + state.tShift[start]
    found = _LINE.match(state.src, begin, state.eMarks[start])
    if found is None:
        return False
    if not silent:
        state.env["unknown"] += [found[0].strip()] if found["unknown"] else []
        state.line = start + 1
    return True


def _module(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out `import` and `export` of MDX, up to the next empty line, and its comments."""
    found = _MODULE.match(state.src, state.bMarks[start])
    if state.level or not found:
        return False
    while not silent and start < end and state.bMarks[start] < found.end():
        start += 1
        state.line = start
    return True


def _inline(state: StateInline, silent: bool) -> bool:
    return _formula(state, silent) or _left_out(state, silent) or _role(state, silent)


def _formula(state: StateInline, silent: bool) -> bool:
    """Read a formula in a shortcode or in MkDocs's brackets; a displayed one stands alone."""
    pattern = FORMULA if state.env["site"] is Site.MKDOCS else _SHORTCODE
    found = pattern.match(state.src, state.pos)
    is_inline = found is not None and found.lastgroup in ("tex", "inline")
    if found is None or not (is_inline or found.span() == (0, len(state.src))):
        return False
    if not silent:
        token = state.push("math_inline" if is_inline else "math_inline_double", "math", 0)
        token.content = found[found.lastgroup or 0].strip("$ \n")
    state.pos = found.end()
    return True


def _left_out(state: StateInline, silent: bool) -> bool:
    """Leave out marks that the page does not show, and what only the generator can resolve."""
    pattern = _IN_MDX if state.env["mdx"] else _IN_LINE
    found = pattern.match(state.src, state.pos)
    if found is None or (found["list"] and state.env["site"] is Site.MYST):
        return False
    if not silent:
        state.pending = state.pending.rstrip() if found["list"] else state.pending
        state.pending += " " if found.lastgroup == "blank" else ""
        for image in state.tokens[-1:] if found["alt"] else ():
            image.children = image.children or [Token("text", "", 0, content=found["alt"])]
        token = state.push(UNRESOLVED, "", 0)
        token.content, token.meta = found[0], {"unknown": bool(found["unknown"])}
        state.env["unknown"] += [found[0]] if found["unknown"] else []
    state.pos = found.end()
    return True


def _role(state: StateInline, silent: bool) -> bool:
    """Leave out a role, whose name has been read as text."""
    text = _ROLE_TEXT.match(state.src, state.pos)
    if silent or not text or state.env["site"] is Site.MKDOCS:  # it has icons there
        return False
    name = _ROLE.search(state.pending)
    if not name:
        return False
    state.pending = state.pending[: name.start()]
    token = state.push(UNRESOLVED, "", 0)
    token.content, token.meta = name[0] + text[0], {"unknown": True}
    state.env["unknown"] += [token.content]
    state.pos = text.end()
    return True


def inline_html(md: MarkdownIt, text: str, env: EnvType) -> str:
    """Render a title or cell, without the footnotes, which are at the end of the page."""
    keys = ("unknown", "site", "file", "mdx", "slug")
    known = {key: env[key] for key in keys if key in env}
    return str(md.renderInline(_FOOTNOTE.sub("", text), known))
