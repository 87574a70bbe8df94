"""Renders the sample book's pages as HTML for the demo site; each block carries its paragraph id.

It reads the Markdown of Docusaurus that the sample book uses. The book is part of this package, so
its HTML is trusted.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, pairwise
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from app.domain.document import Block, BlockKind, Book

_NOT_SHOWN = ("import ", "{/*")
"""How MDX's statements and comments begin."""
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z]+)(?P<attributes>[^<>]*?)(?P<void>/?)>")
_ELEMENTS = {
    "Tabs": ("div", "tabs"),
    "TabItem": ("section", "tab"),
    "details": ("details", ""),
    "summary": ("summary", ""),
}
"""Name of a tag on a line of its own -> the element that is shown, and its class."""
_LABEL = re.compile(r"\blabel=\"([^\"]*)\"")
_HEADING_ID = re.compile(r"\s*\{#[\w-]+\}$")
_CAPTION = re.compile(r"(?:figure|table)\b", re.IGNORECASE)
_CODE_TITLE = re.compile(r"title=\"([^\"]*)\"")
_MARKED_RANGES = re.compile(r"\{([\d,-]+)\}")
_MARKS_NEXT = re.compile(r"\s*(?://|#|--)\s*highlight-next-line\s*")


def render_pages(book: Book, folder: Path) -> dict[str, str]:
    """Return the HTML of each document's article, by the document's file.

    `folder` holds the book's files, from which partials are included. Links between pages become
    paths on the serving site; the book's base URL does not matter.
    """
    md = _markdown()
    paths = {each.file: urlsplit(each.url).path or "/" for each in book.documents}
    pages: dict[str, str] = {}
    for document in book.documents:
        html = _Page(md, folder, paths, document.file).html(document.source, document.blocks)
        # As Docusaurus does: a page without a level-one heading gets the title of its front matter.
        title = "" if "<h1" in html else f"<h1>{escape(document.title)}</h1>\n"
        pages[document.file] = title + html
    return pages


def _markdown() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"xhtmlOut": False}).enable("table").disable("code")
    md.use(front_matter_plugin).use(footnote_plugin)
    md.use(dollarmath_plugin, allow_space=False, double_inline=True)
    md.use(container_plugin, "admonition", validate=lambda info, _: bool(info.strip()))
    md.block.ruler.at("html_block", _tag, {"alt": ["paragraph"]})
    md.block.ruler.before("html_block", "not_shown", _not_shown)
    return md


def _not_shown(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Skip an import or a comment of MDX, to the next empty line."""
    first = state.bMarks[start] + state.tShift[start]
    if silent or not state.src.startswith(_NOT_SHOWN, first):
        return False
    while start < end and not state.isEmpty(start):
        start += 1
    state.line = start
    return True


def _tag(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: ARG001
    """Read a line with a tag of `_ELEMENTS`, or the component of an imported file."""
    tag = _TAG.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if tag is None or not (tag["void"] or tag["name"] in _ELEMENTS):
        return False
    if silent:
        return True
    lines = [start, start + 1]
    state.line = start + 1
    if tag["void"]:
        state.push("partial", "", 0).map = lines
        return True
    element, css = _ELEMENTS[tag["name"]]
    if tag["close"]:
        state.push(f"{element}_close", element, -1)
        return True
    opening = state.push(f"{element}_open", element, 1)
    opening.map, opening.attrs = lines, {"class": css} if css else {}
    if label := _LABEL.search(tag["attributes"]):
        state.push("label", "", 0).content = label[1]
    rest, closed, _ = state.src[tag.end() : state.eMarks[start]].partition(f"</{tag['name']}>")
    if closed:
        inline = state.push("inline", "", 0)
        inline.content, inline.map, inline.children = rest, lines, []
        state.push(f"{element}_close", element, -1)
    return True


class _SourceBlocks:
    """The blocks of one source file, by line."""

    def __init__(self, source: str, blocks: Iterable[Block]) -> None:
        self._lines = source.split("\n")
        starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._extents = [
            (bisect_right(starts, one.start) - 1, bisect_right(starts, one.end - 1) - 1, one)
            for one in blocks
        ]
        """First line, last line, block."""

    def at(self, lines: Sequence[int]) -> Block | None:
        """Return the smallest block that contains markdown-it's half-open range of lines."""
        first, last = lines[0], lines[1] - 1
        while last > first and not self._lines[last].strip():
            last -= 1
        around = [
            (end - start, block)
            for start, end, block in self._extents
            if start <= first and last <= end and not block.included
        ]
        return min(around, key=itemgetter(0))[1] if around else None

    def included_at(self, line: int) -> list[Block]:
        """Return the blocks of the file that is included at a line, in order."""
        return [block for start, _, block in self._extents if start == line and block.included]


@dataclass(frozen=True, slots=True)
class _Page:
    """The files and paths of a book, for the rendering of one page."""

    md: MarkdownIt
    folder: Path
    paths: Mapping[str, str]
    """Document's file -> path of its page."""
    file: str

    def html(self, source: str, blocks: Iterable[Block]) -> str:
        tokens = self.md.parse(source)
        known = _SourceBlocks(source, blocks)
        _identify(tokens, known)
        return self._rendered(tokens, known)

    def _rendered(self, tokens: Sequence[Token], known: _SourceBlocks) -> str:
        shown = [made for one in tokens for made in self._shown(one, known)]
        for before, token in pairwise(shown):
            css = _paragraph_class(token.children or [])
            if before.type == "paragraph_open" and css:
                before.attrJoin("class", css)
        return str(self.md.renderer.render(shown, self.md.options, {}))

    def _shown(self, token: Token, known: _SourceBlocks) -> Iterator[Token]:
        """Yield the tokens that markdown-it's renderer shows for one of the dialect."""
        if align := token.attrs.pop("style", None):
            token.attrSet("class", str(align).replace("text-align:", "align-"))
        match token.type:
            case "partial" if token.map:
                yield _html(self._included(known.included_at(token.map[0])))
            case "label":
                yield _html(f'<p class="label">{escape(token.content)}</p>\n')
            case "fence":
                yield _html(_code(token))
            case "math_block":
                token.attrSet("class", "math-block")
                yield _html(f"<div{_attributes(token)}>{_formula(token.content)}</div>\n")
            case "inline":
                token.children = list(map(self._shown_inline, token.children or []))
                yield token
            case "container_admonition_open":
                kind, _, title = token.info.strip().partition("[")
                token.attrSet("class", f"admonition {kind}")
                yield _html(f"<aside{_attributes(token)}>\n")
                yield _html(f'<p class="label">{escape(title.rstrip("]"))}</p>\n')
            case "container_admonition_close":
                yield _html("</aside>\n")
            case _:
                yield token

    def _shown_inline(self, token: Token) -> Token:
        if token.type.startswith("math_inline"):
            return Token("html_inline", "", 0, content=_formula(token.content))
        if token.type == "link_open":
            token.attrSet("href", self._link(str(token.attrs["href"])))
        elif token.type == "image":
            token.attrSet("loading", "lazy")
        return token

    def _link(self, href: str) -> str:
        """Return the target of a link on the site."""
        parts = urlsplit(href)
        file = posixpath.normpath(posixpath.join(posixpath.dirname(self.file), parts.path))
        path = self.paths.get(file) if parts.path else None
        return parts._replace(path=path).geturl() if path else href

    def _included(self, blocks: Sequence[Block]) -> str:
        """Return the HTML of an included file, of whose elements these are the blocks, in order."""
        source = (self.folder / blocks[0].included).read_text(encoding="utf-8")
        tokens = self.md.parse(source)
        elements = (one for one in tokens if one.level == 0 and one.nesting >= 0)
        for token, block in zip(elements, blocks, strict=True):
            _name(token, block, set())
        return self._rendered(tokens, _SourceBlocks(source, ()))


def _identify(tokens: Sequence[Token], known: _SourceBlocks) -> None:
    """Give the outermost elements of each block its paragraph id, and headings their anchor."""
    seen: set[str] = set()
    opened: list[Block | None] = []
    for index, token in enumerate(tokens):
        if token.nesting < 0:
            opened.pop()
            continue
        around = opened[-1] if opened else None
        block = known.at(token.map) if token.map and token.type != "inline" else None
        if block is not None and block is not around and not token.hidden:
            _name(token, block, seen)
        if token.type == "heading_open":
            _drop_id(tokens[index + 1])
        if token.nesting > 0:
            opened.append(block or around)


def _name(token: Token, block: Block, seen: set[str]) -> None:
    token.attrSet("data-paragraph-id", block.paragraph_id)
    anchor = block.anchor if block.kind is BlockKind.HEADING else ""
    if anchor or block.paragraph_id not in seen:
        token.attrSet("id", anchor or block.paragraph_id)
    seen.add(block.paragraph_id)


def _drop_id(heading: Token) -> None:
    """Leave out the id that the author wrote behind a heading."""
    last = heading.children[-1] if heading.children else heading
    last.content = _HEADING_ID.sub("", last.content)


def _html(content: str) -> Token:
    return Token("html_block", "", 0, content=content)


def _attributes(token: Token) -> str:
    return "".join(f' {name}="{escape(str(value))}"' for name, value in token.attrs.items())


def _formula(source: str) -> str:
    return f'<span class="math">{escape(source.strip())}</span>'


def _paragraph_class(children: Sequence[Token]) -> str:
    if len(children) == 1 and children[0].type == "image":
        return "figure"
    emphasised = len(children) > 2 and children[0].type == "em_open"
    return "caption" if emphasised and _CAPTION.match(children[1].content) else ""


def _code(token: Token) -> str:
    language, _, settings = token.info.partition(" ")
    title, ranges = _CODE_TITLE.search(settings), _MARKED_RANGES.search(settings)
    lines: list[str] = []
    marked = set(_numbers(ranges[1])) if ranges else set()
    for line in token.content.removesuffix("\n").split("\n"):
        if _MARKS_NEXT.fullmatch(line):
            marked.add(len(lines) + 1)
        else:
            lines.append(escape(line))
    shown = (
        f'<span class="marked-line">{line}</span>' if number in marked else line
        for number, line in enumerate(lines, 1)
    )
    caption = f"<figcaption>{escape(title[1])}</figcaption>" if title else ""
    css = f' class="language-{escape(language)}"' if language else ""
    token.attrSet("class", "code")
    return (
        f'<figure{_attributes(token)}>{caption}<pre tabindex="0"><code{css}>'
        + "\n".join(shown)
        + "\n</code></pre></figure>\n"
    )


def _numbers(ranges: str) -> Iterator[int]:
    """Yield the line numbers of `1,3-4`."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
