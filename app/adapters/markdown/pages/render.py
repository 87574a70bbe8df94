"""Renders a book's documents as HTML articles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.adapters.markdown.book import page_reader
from app.adapters.markdown.includes import Library
from app.adapters.markdown.pages.block_ids import BlockFinder, tag_blocks, tag_included
from app.adapters.markdown.pages.html_tags import (
    attributes_html,
    closing_html,
    image_address,
    is_component,
    opening_html,
    pair_tags,
    tag_of,
)
from app.adapters.markdown.pages.page_tokens import PageTokens
from app.adapters.markdown.parser.file_reader import FileReader
from app.adapters.markdown.source import SourceFile, make_source
from app.domain.document import Block, BlockKind, Book, Document

_CAPTION = re.compile(r"(?:figure|table|listing)\b", re.IGNORECASE)
_PAGE = "page"
_MAX_INCLUDE_DEPTH = 8


def render_pages(book: Book, folder: Path) -> dict[str, str]:
    """Return the HTML of each document's article, by the document's file.

    `folder` holds the book's files, from which partials are included. Links between pages become
    paths on the serving site; the book's base URL does not matter.
    """
    paths = {each.file: urlsplit(each.url).path or "/" for each in book.documents}
    renderer = _BookRenderer(_html_renderer(), paths, *page_reader(folder, book.site))
    return {document.file: _article(renderer, document) for document in book.documents}


@dataclass(frozen=True, slots=True)
class _BookRenderer:
    """The objects shared by all pages of a book."""

    md: MarkdownIt
    paths: Mapping[str, str]
    """Document's file -> path of its page."""
    library: Library
    reader: FileReader

    def link(self, href: str, file: str) -> str:
        """Return the target of a link in `file` on the site."""
        parts = urlsplit(href)
        if parts.scheme or parts.netloc or not parts.path:
            return href
        path = self.paths.get(_resolve(parts.path, file))
        return parts._replace(path=path).geturl() if path else href


def _resolve(path: str, file: str) -> str:
    if path.startswith("@site/"):
        return posixpath.normpath(path.removeprefix("@site/"))
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


@dataclass(frozen=True, slots=True)
class PageRendering:
    """State of the render rules for a page, or for a file that it includes."""

    book: _BookRenderer
    file: str
    finder: BlockFinder
    depth: int = 0

    def render(self, source: SourceFile, included: Sequence[Block] = ()) -> str:
        """Return the HTML; `included` are the blocks that an included file became."""
        env: EnvType = {_PAGE: self}
        tokens = PageTokens(self.book.reader.tokens(source)).convert()
        pair_tags(tokens)
        tag_blocks(tokens, self.finder)
        tag_included(tokens, included)
        self._adapt(tokens)
        md = self.book.md
        return str(md.renderer.render(tokens, md.options, env))

    def include(self, token: Token) -> str:
        """Return the HTML of the file that a component shows."""
        file = token.content
        text = self.book.library.text(file)
        if text is None or self.depth >= _MAX_INCLUDE_DEPTH:
            return ""
        source = self.book.reader.visible(make_source(text, file))
        page = PageRendering(self.book, file, BlockFinder(text, ()), self.depth + 1)
        return page.render(source, self.finder.included_at(token))

    def _adapt(self, tokens: Sequence[Token]) -> None:
        for position, token in enumerate(tokens):
            if align := token.attrs.pop("style", None):
                token.attrSet("class", str(align).replace("text-align:", "align-"))
            if token.type != "inline":
                continue
            children = token.children or []
            for child in children:
                self._adapt_inline(child)
            around = tokens[position - 1] if position else token
            if around.type == "paragraph_open" and (css := _paragraph_class(children)):
                around.attrJoin("class", css)

    def _adapt_inline(self, token: Token) -> None:
        md = self.book.md
        if token.type == "link_open":
            href = md.normalizeLink(str(token.attrs["href"]))
            # The parser keeps link targets as written.
            href = self.book.link(href, self.file) if md.validateLink(href) else ""
            token.attrSet("href", href)
            if urlsplit(href).netloc:
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "image":
            source = md.normalizeLink(str(token.attrs["src"]))
            token.attrSet("src", image_address(source))
            token.attrSet("loading", "lazy")


def _article(renderer: _BookRenderer, document: Document) -> str:
    text = document.source
    page = PageRendering(renderer, document.file, BlockFinder(text, document.blocks))
    body = page.render(make_source(text, document.file))
    # As Docusaurus does: a page without a level-one heading gets the title of its front matter.
    return body if "<h1" in body else f"<h1>{escape(document.title)}</h1>\n{body}"


def _paragraph_class(children: Sequence[Token]) -> str:
    shown = [child for child in children if child.content.strip() or child.type != "text"]
    if len(shown) == 1 and shown[0].type == "image":
        return "figure"
    emphasised = len(shown) > 2 and (shown[0].type, shown[-1].type) == ("em_open", "em_close")
    return "caption" if emphasised and _CAPTION.match(shown[1].content) else ""


def _html_renderer() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False})
    for name, render in _RENDERERS.items():
        md.add_render_rule(name, _rule(render))
    return md


Renderer: TypeAlias = Callable[[PageRendering, Token], str]
"""Returns the HTML of a token on a page."""


def _rule(render: Renderer) -> Callable[..., str]:
    """Return a renderer as a rule of markdown-it."""

    def rule(
        _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, env: EnvType
    ) -> str:
        return render(env[_PAGE], tokens[index])

    return rule


def _attributes(token: Token) -> dict[str, str]:
    return {name: str(value) for name, value in token.attrs.items()}


def _render_tag(_page: PageRendering, token: Token) -> str:
    tag = tag_of(token)
    if tag is None:
        return ""
    if tag.closing:
        return closing_html(tag)
    html = opening_html(tag, _attributes(token))
    return html + closing_html(tag) if tag.empty and is_component(tag.name) else html


def _render_included(page: PageRendering, token: Token) -> str:
    """Show the texts of the blocks that an include directive expands to."""
    return "".join(map(_block_html, page.finder.included_at(token)))


def _block_html(block: Block) -> str:
    ids = {"id": block.paragraph_id, "data-paragraph-id": block.paragraph_id}
    if block.kind is BlockKind.CODE:
        return code_block(block.text, block.language, attributes_html(ids))
    if block.kind is BlockKind.HEADING:
        ids["id"] = block.anchor or block.paragraph_id
        return f"<h{block.level}{attributes_html(ids)}>{escape(block.text)}</h{block.level}>\n"
    return f"<p{attributes_html(ids)}>{escape(block.text)}</p>\n"


def _render_footnote_ref(_page: PageRendering, token: Token) -> str:
    number = token.meta["number"]
    own = f' id="fnref{number}"' if token.meta["first"] else ""
    return f'<sup class="footnote-ref"><a href="#fn{number}"{own}>[{number}]</a></sup>'


def _render_footnote(_page: PageRendering, token: Token) -> str:
    number = token.meta["number"]
    attributes = {"class": "footnotes-list", "start": str(number)} | _attributes(token)
    return f'<ol{attributes_html(attributes)}><li id="fn{number}" class="footnote-item">'


def _render_footnote_close(_page: PageRendering, token: Token) -> str:
    used = not token.meta.get("first", True)
    back = f'<a href="#fnref{token.meta["number"]}" class="footnote-backref">↩︎</a>' if used else ""
    return f"{back}</li></ol>\n"


def _render_label(_page: PageRendering, token: Token) -> str:
    return f'<p class="label">{escape(token.content)}</p>\n'


def _render_math_inline(_page: PageRendering, token: Token) -> str:
    return f'<span class="math">{escape(_formula(token.content))}</span>'


def _formula(source: str) -> str:
    """Return a formula without its delimiters."""
    if source.startswith(("\\(", "\\[")):
        return source[2:-2].strip()
    return source.strip().strip("$").strip()


def _render_math_block(_page: PageRendering, token: Token) -> str:
    attributes = attributes_html({"class": "math-block"} | _attributes(token))
    return f'<div{attributes}><span class="math">{escape(_formula(token.content))}</span></div>\n'


def _render_fence(_page: PageRendering, token: Token) -> str:
    return code_block(token.content, token.info, attributes_html(_attributes(token)))


_RENDERERS: Mapping[str, Renderer] = {
    "tag": _render_tag,
    "partial": PageRendering.include,
    "html_inline": _render_tag,
    "included": _render_included,
    "footnote_ref": _render_footnote_ref,
    "footnote_open": _render_footnote,
    "footnote_close": _render_footnote_close,
    "admonition_label": _render_label,
    "math_inline": _render_math_inline,
    "math_inline_double": _render_math_inline,
    "math_block": _render_math_block,
    "fence": _render_fence,
}


_TITLE = re.compile(r"""title=(?:"([^"]*)"|'([^']*)')""")
_RANGES = re.compile(r"\{([\d,\s-]+)\}")
_MAGIC = re.compile(
    r"^\s*(?://|#|--|/\*|<!--|\{/\*)\s*highlight-(next-line|start|end)\s*(?:\*/\}?|-->)?\s*$"
)


def code_block(content: str, info: str, attributes: str) -> str:
    """Return the HTML; `info` is the info string, `attributes` are the element's."""
    language = re.split(r"[\s{]", info.strip(), maxsplit=1)[0]
    title = _TITLE.search(info)
    lines, marked = _without_magic(content.removesuffix("\n").split("\n"))
    if ranges := _RANGES.search(info):
        marked |= _line_numbers(ranges[1])
    caption = f"<figcaption>{escape(title[1] or title[2] or '')}</figcaption>" if title else ""
    css = f' class="language-{escape(language)}"' if language else ""
    body = "\n".join(_line(text, number in marked) for number, text in enumerate(lines, 1))
    return (
        f'<figure class="code"{attributes}>{caption}'
        f'<pre tabindex="0"><code{css}>{body}\n</code></pre></figure>\n'
    )


def _line(text: str, marked: bool) -> str:
    return f'<span class="marked-line">{escape(text)}</span>' if marked else escape(text)


def _without_magic(lines: list[str]) -> tuple[list[str], set[int]]:
    """Return the visible lines and the numbers (from 1) of the highlighted ones."""
    kept: list[str] = []
    marked: set[int] = set()
    inside = next_line = False
    for line in lines:
        if magic := _MAGIC.match(line):
            inside = magic[1] == "start" or (inside and magic[1] != "end")
            next_line = magic[1] == "next-line"
            continue
        kept.append(line)
        if inside or next_line:
            marked.add(len(kept))
        next_line = False
    return kept, marked


def _line_numbers(ranges: str) -> set[int]:
    numbers: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            # The bound keeps a huge range in the source from filling memory.
            numbers.update(range(int(first), min(int(last or first), int(first) + 10_000) + 1))
    return numbers
