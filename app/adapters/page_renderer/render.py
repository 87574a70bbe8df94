"""From a book's documents to the HTML of their articles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.adapters.page_renderer.block_ids import BlockFinder, tag_blocks, tag_included
from app.adapters.page_renderer.syntax import parser
from app.adapters.page_renderer.tags import (
    attributes_html,
    closing_html,
    is_component,
    opening_html,
    pair_tags,
    tag_of,
)
from app.domain.document import Block, Book, Document
from app.domain.errors import BookError
from app.services.book_folder import file_inside

_HEADING_ID = re.compile(r"\s*\{#[^{}\s]+\}\s*$")
_CAPTION = re.compile(r"(?:figure|table|listing)\b", re.IGNORECASE)
_PAGE = "page"
_MAX_INCLUDE_DEPTH = 8

Rule = Callable[[RendererProtocol, Sequence[Token], int, OptionsDict, EnvType], str]


def render_pages(book: Book, folder: Path) -> dict[str, str]:
    """Return the HTML of each document's article, by the document's file.

    `folder` holds the book's files, from which partials are included. Links between pages become
    paths on the serving site, whatever base URL the book was read with.
    """
    site = SiteMap(
        folder.resolve(), {each.file: urlsplit(each.url).path or "/" for each in book.documents}
    )
    md = _renderer()
    return {document.file: _article(md, site, document) for document in book.documents}


@dataclass(frozen=True, slots=True)
class SiteMap:
    folder: Path
    paths: Mapping[str, str]
    """A document's file to the path of its page."""

    def link(self, href: str, file: str) -> str:
        """Return the target of a link in `file` on the site."""
        parts = urlsplit(href)
        if parts.scheme or parts.netloc or not parts.path:
            return href
        path = self.paths.get(_resolve(parts.path, file))
        return parts._replace(path=path).geturl() if path else href

    def image(self, source: str) -> str:
        """Return an image's address; "" for an image of another site."""
        parts = urlsplit(source)
        if parts.scheme or parts.netloc:
            return ""
        return source.removeprefix("@site/static").removeprefix("pathname://")

    def partial(self, path: str, file: str) -> tuple[str, str] | None:
        """Return name and text of an included file; None if it is not in the book's folder."""
        name = _resolve(path, file)
        try:
            return name, file_inside(self.folder, name).read_text(encoding="utf-8")
        except (FileNotFoundError, BookError):
            return None


def _resolve(path: str, file: str) -> str:
    if path.startswith("@site/"):
        return posixpath.normpath(path.removeprefix("@site/"))
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


@dataclass(frozen=True, slots=True)
class Page:
    """State of the render rules for a page, or for a file that it includes."""

    md: MarkdownIt
    site: SiteMap
    file: str
    finder: BlockFinder
    depth: int = 0

    def render(self, source: str, included: Sequence[Block] = ()) -> str:
        """Return the HTML; `included` are the blocks that an included file became."""
        env: EnvType = {_PAGE: self, "docId": f"i{self.depth}"} if self.depth else {_PAGE: self}
        tokens = self.md.parse(source, env)
        pair_tags(tokens)
        tag_blocks(tokens, self.finder)
        tag_included(tokens, included)
        self._adapt(tokens)
        return str(self.md.renderer.render(tokens, self.md.options, env))

    def include(self, token: Token) -> str:
        found = self.site.partial(token.content, self.file)
        if found is None or self.depth >= _MAX_INCLUDE_DEPTH:
            return ""
        file, source = found
        page = Page(self.md, self.site, file, BlockFinder(source, ()), self.depth + 1)
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
            if around.type == "heading_open":
                _strip_heading_id(children)
            elif around.type == "paragraph_open" and (css := _paragraph_class(children)):
                around.attrJoin("class", css)

    def _adapt_inline(self, token: Token) -> None:
        if token.type == "link_open":
            href = self.site.link(str(token.attrs["href"]), self.file)
            token.attrSet("href", href)
            if urlsplit(href).netloc:
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "image":
            token.attrSet("src", self.site.image(str(token.attrs["src"])))
            token.attrSet("loading", "lazy")


def _article(md: MarkdownIt, site: SiteMap, document: Document) -> str:
    source = str(document.source)
    finder = BlockFinder(source, document.blocks)
    body = Page(md, site, document.file, finder).render(source)
    # As Docusaurus does: a page without a level-one heading gets the title of its front matter.
    return body if "<h1" in body else f"<h1>{escape(document.title)}</h1>\n{body}"


def _strip_heading_id(children: Sequence[Token]) -> None:
    if children and children[-1].type == "text":
        children[-1].content = _HEADING_ID.sub("", children[-1].content)


def _paragraph_class(children: Sequence[Token]) -> str:
    shown = [child for child in children if child.content.strip() or child.type != "text"]
    if len(shown) == 1 and shown[0].type == "image":
        return "figure"
    emphasised = len(shown) > 2 and (shown[0].type, shown[-1].type) == ("em_open", "em_close")
    return "caption" if emphasised and _CAPTION.match(shown[1].content) else ""


def _renderer() -> MarkdownIt:
    md = parser()
    for name, rule in _RULES.items():
        md.add_render_rule(name, rule)
    return md


def _page(env: EnvType) -> Page:
    page: Page = env[_PAGE]
    return page


def _attributes(token: Token) -> dict[str, str]:
    return {name: str(value) for name, value in token.attrs.items()}


def _render_tag(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    tag = tag_of(token)
    if tag is None:
        return ""
    if tag.closing:
        return closing_html(tag)
    html = opening_html(tag, _attributes(token), _page(env).site.image)
    return html + closing_html(tag) if tag.empty and is_component(tag.name) else html


def _render_partial(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, env: EnvType
) -> str:
    return _page(env).include(tokens[index])


def _render_label(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, _env: EnvType
) -> str:
    return f'<p class="label">{escape(tokens[index].content)}</p>\n'


def _render_math_inline(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, _env: EnvType
) -> str:
    return f'<span class="math">{escape(tokens[index].content)}</span>'


def _render_math_block(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    attributes = attributes_html({"class": "math-block"} | _attributes(token))
    return f'<div{attributes}><span class="math">{escape(token.content.strip())}</span></div>\n'


def _render_fence(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _o: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    return code_block(token.content, token.info, attributes_html(_attributes(token)))


_RULES: Mapping[str, Rule] = {
    "tag": _render_tag,
    "partial": _render_partial,
    "html_inline": _render_tag,
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
    """Return the HTML; `info` is all that stands after the fence, `attributes` the element's."""
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
    """Return the lines a reader sees and the numbers, from 1, of those to be marked."""
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
            # The numbers come from the source: a bound keeps a huge range from filling memory.
            numbers.update(range(int(first), min(int(last or first), int(first) + 10_000) + 1))
    return numbers
