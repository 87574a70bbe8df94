"""Directives and containers: ```` ```{note} ````, `::: note Title`, `=== "Tab"`, `/// note`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin

from app.adapters.reading.markdown.unresolved import inline_html
from app.adapters.reading.source_files import front_matter
from app.domain.document import Site

_FENCE = re.compile(r"\s*\{(?P<name>[A-Za-z][\w:.+-]*)\}(?P<argument>.*)", re.DOTALL)
_NAMED_FENCE = re.compile(
    r"(?:admonish[ \t]+|ad-|(?=(?:smart|warn)\b))(?P<name>[\w-]+)"
    r"(?P<argument>(?:.*?\b(?:title|header)=\"(?P<title>[^\"]*)\")?.*)"
)
"""An admonition in a fence: mdbook-admonish, Obsidian's Admonitions, javascript.info."""
_CONTAINER = re.compile(
    r"\s*(?:\{\s*)?\.?(?P<name>[A-Za-z][\w:.+-]*)?(?:[^{}\[\]\n]*\})?(?P<argument>.*)", re.DOTALL
)
_OPENINGS = {"fence": (_FENCE, _NAMED_FENCE), "colon_fence": (_CONTAINER,)}
"""By the type of a token, what its first line may be."""
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\Z")
_OPTION = re.compile(r"[ \t]*:(?P<key>[\w-]+):[ \t]*(?P<value>.*)\n?")
_TABLE = tomllib.loads(Path(__file__).with_name("directives.toml").read_text("utf-8"))
_ROLES = {name: role for role, one in _TABLE.items() for name in one["names"].split()}
"""What becomes of directives, by their names."""
_TAG = re.compile(r"<[^<>]*>")
_DEFINITION = re.compile(r"^(?P<term>\S[^\n]*)\n[ \t]{2,}(?=\S)", re.MULTILINE)
_DEPTH = 8
"""Deepest nesting of directives."""
_MARKERS = frozenset("!?=/:{")
_INDENTED = re.compile(
    r"(?:===[!+]{0,2}(?= +\")|(?:!!!|\?\?\?\+?) *(?P<name>[\w-]+)[^\"]*+)"
    r"(?: *\"(?P<title>.*)\")?\s*$"
)
"""The first line of an admonition or tab of MkDocs, whose body is indented."""
_DOTTED = re.compile(r"\w+(?:\.\w+)+")
_OBJECT = re.compile(rf":::[ \t]+(?P<name>{_DOTTED.pattern})(?P<title>)[ \t]*$")
"""The first line of what mkdocstrings takes from source code; its options are indented."""
_SLASHED = re.compile(r"(?P<mark>/{3,})[ \t]*(?P<name>[\w-]+)[ \t]*(?:\|(?P<title>.*))?$")
"""The first line of a block of PyMdown's, which ends with the same slashes."""
_PAIRED = re.compile(
    r"\{(?:\{[<%#]|%-?)[ \t]*(?P<name>[a-z][\w-]*+)(?P<given>[^{}\n]*+)\}{1,2}[ \t]*$"
)
"""The first line of a shortcode or tag with an end, of Hugo, Jekyll, GitBook or mdbook-tabs."""
_LANGUAGE = re.compile(r"\A[ \t]+([\w+#.-]+)(?![\w=+#.-])")
_TITLED = re.compile(r"(?:\b(?:title|name|header)=|[ \t])(?:\"([^\"]*)\"|'([^']*)')")
_LISTING = "highlight"
_PAIRED_ROLES = frozenset({"admonition", "frame", "details", "tab", "formula"})
_TITLED_ROLES = frozenset({"admonition", "details"})
"""In plain folders a heading that begins one is its title, as The Carpentries and Quarto write."""
_INDENT = 4
_LONGEST = 500
"""Lines of what has an end."""


def directives_plugin(md: MarkdownIt) -> None:
    """Read directives, also those that begin with `!!!`, `???`, `===`, `///`, `{{<` or `{%`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("unresolved", "indented", _indented, ends)
    md.use(colon_fence_plugin)
    md.core.ruler.after("block", "directive", _directives)


def _directives(state: StateCore) -> None:
    state.tokens = _replaced(state.tokens, state, 0)


def _replaced(tokens: list[Token], state: StateCore, depth: int) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        patterns = _OPENINGS.get(token.type, ()) if depth <= _DEPTH else ()
        found = next(filter(None, (one.match(token.info) for one in patterns)), None)
        result += _tokens(found, token, state, depth) if found else [token]
    return result


def _tokens(found: re.Match[str], token: Token, state: StateCore, depth: int) -> list[Token]:
    """Return what a directive becomes: a listing, a formula, or an element with its content."""
    name = (found["name"] or "").lower()
    other = "unknown" if _DOTTED.fullmatch(name) else "admonition"
    role = _ROLES.get(name, other if name else "frame")
    if role == "cell":
        return [token]
    argument = _title(found["argument"])
    if found.re is _NAMED_FENCE:
        argument = found["title"] if found["title"] is not None else name.title()
    options, body, line = _options(token, state.env["file"])
    if role == "unknown":
        state.env["unknown"].append(f"{{{name}}} {argument}")
    if role in ("unknown", "left-out"):
        return []
    if role in ("code", "formula"):
        token.type, token.info = ("fence", argument) if role == "code" else ("math_block", "")
        token.tag, token.content = "", body.strip("\n") if role == "code" else body.strip("$ \n")
        return [token]
    if role == "glossary":  # terms and indented definitions
        body = _DEFINITION.sub(r"\g<term>\n: ", body)
    inside = _nested(body, line, state, depth)
    if role == "glossary":
        return inside
    ident = options.get("name") or options.get("label") or ""
    is_headed = not argument and inside and inside[0].type == "heading_open"
    if is_headed and role in _TITLED_ROLES and state.env["site"] is Site.PLAIN:
        argument, inside = inside[1].content, inside[3:]
        ident = ident or argument
    title = inline_html(state.md, argument, state.env) if role != "figure" else ""
    shown = title if is_headed or "solution" not in name else ""  # it names the exercise
    ident = ident and state.env["slug"](ident)
    element = _TABLE["admonition" if role == "frame" and title else role]
    opening = element["opening"].format(
        id=f' id="{escape(ident)}"' if ident else "",
        classes=escape(f"{name} {options.get('class', '')}".strip()),
        argument=escape(argument),
        label=_TAG.sub("", title),
        alt=escape(options.get("alt", "")),
        title=title,
        head=f'<p class="admonition-title label">{shown}</p>' if shown else "",
    )
    return [_html(opening, token.map), *inside, _html(element["closing"], None)]


def _title(argument: str) -> str:
    """Return a directive's argument without the attributes behind it and the brackets around it."""
    text = _ATTRIBUTES.sub("", argument.strip()).rstrip()
    return text[1:-1] if text[:1] == "[" and text.endswith("]") else text


def _options(token: Token, file: str) -> tuple[Mapping[str, str], str, int]:
    """Return the options of a directive, its body, and the page's line on which that begins.

    The options begin it as `:key: value` lines or between `---`.
    """
    text = token.content
    front, at = front_matter(text, file)
    options = {key: str(value) for key, value in front.items()}
    while found := _OPTION.match(text, at):
        options[found["key"]] = found["value"].strip()
        at = found.end()
    first = token.map[0] + 1 if token.map else 0
    return options, text[at:], first + text.count("\n", 0, at)


def _nested(body: str, line: int, state: StateCore, depth: int) -> list[Token]:
    tokens: list[Token] = []
    state.md.block.parse(body, state.md, state.env, tokens)
    for token in tokens:
        if token.map is not None:
            token.map = [token.map[0] + line, token.map[1] + line]
    return _replaced(tokens, state, depth + 1)


def _html(content: str, place: list[int] | None) -> Token:
    return Token("html_block", "", 0, content=content, map=place)


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a block whose body is indented, or ends with a line of its own, as a directive."""
    begin = state.bMarks[start] + state.tShift[start]
    if state.src[begin : begin + 1] not in _MARKERS:
        return False
    line = state.src[begin : state.eMarks[start]]
    slashed, paired = _SLASHED.match(line), _paired(line)
    found = slashed or paired or _INDENTED.match(line) or _OBJECT.match(line)
    if found is None or state.is_code_block(start):
        return False
    name = found["name"] or "tab-item"
    closing = (slashed["mark"],) if slashed else (f"/{name}", f"end{name}") if paired else ()
    indent = state.sCount[start] + (0 if closing else _INDENT)
    last, limit = start + 1, min(end, start + _LONGEST) if paired else end
    while last < limit and _is_inside(state, last, indent, closing):
        last += 1
    if silent or (paired and last == limit):
        return last < limit or not paired
    title = _given_title(paired) if paired else found["title"]
    token = state.push("colon_fence", "", 0)
    token.info = f"{name} [{name.title() if title is None else title.strip()}]"
    token.map = [start, last]
    token.content = state.getLines(start + 1, last, indent, True)
    state.line = min(last + bool(closing), end)
    return True


def _paired(line: str) -> re.Match[str] | None:
    """Match the first line of a shortcode or tag that is known here and has an end."""
    found = _PAIRED.match(line)
    is_known = found and (found["name"] == _LISTING or _ROLES.get(found["name"]) in _PAIRED_ROLES)
    return found if is_known else None


def _given_title(paired: re.Match[str]) -> str:
    """Return the language of a listing, or the title that a shortcode or tag gives; "" without."""
    pattern = _LANGUAGE if paired["name"] == _LISTING else _TITLED
    found = pattern.search(paired["given"])
    return str(found[found.lastindex or 1]) if found else ""


def _is_inside(state: StateBlock, at: int, indent: int, closing: Sequence[str]) -> bool:
    """Whether a line is in a block that ends before a line `closing`, or before a lesser indent."""
    if closing:
        line = state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]]
        return "".join(line.split()).strip("{<%#->}") not in closing
    return state.isEmpty(at) or state.sCount[at] >= indent
