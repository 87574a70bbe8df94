"""Reads the pages of a book, built or in Markdown, and keeps what is to be said of them."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from posixpath import dirname, join
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from app.adapters.reading.blocks import page_drafts
from app.adapters.reading.documents import OpenedBook, PageInfo, build_document, left_out_warning
from app.adapters.reading.hidden_text import prompt_injections
from app.adapters.reading.markdown.render import render
from app.adapters.reading.site_pages import PAGE_SUFFIXES
from app.adapters.reading.source_files import SourceFiles, front_matter
from app.adapters.reading.themes import fallback
from app.adapters.reading.tree import INLINE, marked, page_tree, parse, show_console
from app.domain.document import Document, Site, SourceWarning
from app.domain.errors import BookError
from app.domain.links import BuiltPage, PageText
from app.domain.reading_budget import BUDGET, check_size
from app.domain.urls import encoded_url
from app.services.phases import Advance

_LEAST_SIZE = 10_000
"""Characters by which an included file counts more: many small files may include each other."""
_MAX_ADDRESS = 2_000
"""Characters; a longer address of an image, such as one that holds the image itself, is none."""


@dataclass(slots=True)
class PageReader:
    """Reads the pages of one book, in order."""

    files: SourceFiles
    mark: bool = False
    """Whether the spans of a built page are those of start tags in its bytes."""
    _size: int = field(default=0, init=False)
    """Characters of the page that is read, with the files that it includes."""
    included: set[str] = field(default_factory=set, init=False)
    """Files that pages include."""
    _warnings: list[SourceWarning] = field(default_factory=list, init=False)
    _unknown: int = field(default=0, init=False)
    """Places that only the site's generator can resolve; `_first_unknown` is one of them."""
    _first_unknown: SourceWarning | None = field(default=None, init=False)

    def read(self, book: OpenedBook, advance: Advance) -> Iterator[Document]:
        """Yield the pages that have text; built ones without are counted."""
        empty: list[str] = []
        for page in book.pages:
            is_built = page.file.lower().endswith(PAGE_SUFFIXES)
            if is_built:
                read = self._built_page(page)
            else:
                source = self.files.text(page.file)
                read = self.markdown(page, source, Site(book.site), book.base_url)
            if read is not None:
                yield read
            elif is_built:
                empty.append(page.file)
            advance(1)
        if empty:
            self._warnings.append(left_out_warning("no text if scripts do not run", empty))

    def _built_page(self, info: PageInfo) -> Document | None:
        html = self.files.data(info.file)
        root = parse(marked(html) if self.mark else html, info.file)
        _resolve_images(root, info.url)
        main, source = info.theme.content(root), "" if self.mark else None
        document = None if main is None else self._document(info, main, source, shown_text(root))
        if document is not None:
            self._warnings += prompt_injections(document.source, info.file)
        return document

    def markdown(
        self, info: PageInfo, source: str, site: Site, base_url: str = ""
    ) -> Document | None:
        """Return a page of Markdown below an address; None if it has no blocks."""
        self._warnings += prompt_injections(source, info.file)
        front, skip = front_matter(source, info.file)
        self._size = len(source)
        html, unknown = render(source, site, skip, info, self._include)
        self._note_unknown(unknown, source, info.file)
        info = replace(info, title=str(front.get("title") or info.title))
        root = parse(f"<main>{html}</main>".encode("utf-8", "replace"), info.file)
        if site is Site.MYST and info.url.endswith(".html"):
            self._move_images(root)
        if site is Site.MKDOCS and info.url.endswith("/"):
            self._lift_images(root, info.file)
        # Docusaurus and mystmd move images to names that only the built site has.
        knows_images = site in (Site.PLAIN, Site.MDBOOK, Site.MKDOCS)
        _resolve_images(root, info.url if knows_images else "", base_url)
        document = self._document(info, next(root.iter("main")), source)
        return replace(document, html=html) if document is not None else None

    def _move_images(self, content: HtmlElement) -> None:
        """Give images the addresses that Sphinx moves them to, if no two have the same name."""
        for image in content.iter("img"):
            source = image.get("src") or ""
            name = source.rpartition("/")[2]
            if "://" not in source and self.files.has(self.files.named(unquote(name))):
                image.set("src", f"/_images/{name}")

    def _lift_images(self, content: HtmlElement, file: str) -> None:
        """Give images that lie beside a page the addresses that MkDocs does, below `owls/`."""
        is_index = PurePosixPath(file.lower()).stem in ("index", "readme")
        for image in () if is_index else content.iter("img"):
            source = image.get("src") or ""
            if self.files.has(join(dirname(file), unquote(source.partition("#")[0]))):
                image.set("src", f"../{source}")

    def _document(
        self, info: PageInfo, main: HtmlElement, source: str | None, shown: PageText | None = None
    ) -> Document | None:
        tree = page_tree(main, info.theme)
        if tree.hidden:
            more = f", and {len(tree.hidden) - 1:,} more" if tree.hidden[1:] else ""
            message = f"hidden text is not read: {tree.hidden[0][:60]!r}{more}"
            self._warnings.append(SourceWarning(message, info.file, 0))
        drafts = page_drafts(tree, info.file)
        if not drafts:
            return None
        etree.strip_tags(tree.content, *INLINE)
        content = " ".join(tree.content.itertext())
        return replace(build_document(info, drafts, source, shown), content=content)

    def _include(self, name: str) -> str | None:
        """Return the text of a file that a page includes; None if it cannot be read."""
        try:
            name = self.files.named(name)
            text = self.files.settings(name)
        except BookError:
            return None
        self._size += len(text) + _LEAST_SIZE
        check_size(self._size, BUDGET.size, name)
        if name not in self.included:
            self._warnings += prompt_injections(text, name)
        self.included.add(name)
        return text[front_matter(text, name)[1] :] if name.endswith(".md") else text

    def _note_unknown(self, unknown: Sequence[str], source: str, file: str) -> None:
        self._unknown += len(unknown)
        if unknown and self._first_unknown is None:
            own = [one for one in dict.fromkeys(unknown) if one in source]  # its blanks may differ
            first = min(own or unknown, key=source.find)
            line = source.count("\n", 0, source.find(first)) + 1 if own else 0
            self._first_unknown = SourceWarning(" ".join(first.split())[:80], file, line)

    def warnings(self) -> list[SourceWarning]:
        """Return the warnings, with one for all places that need the built site."""
        if self._first_unknown is None:
            return self._warnings
        first = self._first_unknown
        places = "1 place needs" if self._unknown == 1 else f"{self._unknown:,} places need"
        shown = f"first: `{first.message}`"
        message = f"{places} the built site ({shown}): build it and ingest its folder"
        return [replace(first, message=message), *self._warnings]


def _resolve_images(content: HtmlElement, page_url: str, folder_url: str = "") -> None:
    """Make the addresses of images absolute, or paths from the root of the page's host.

    A path from the root is one below `folder_url`. An address becomes "" if it cannot be known,
    because it is relative and `page_url` is "", or is not one of the web.
    """
    for image in content.iter("img"):
        image.set("src", _image_url((image.get("src") or "").strip(), page_url, folder_url))


def _image_url(src: str, page_url: str, folder_url: str) -> str:
    if not src or len(src) > _MAX_ADDRESS or not src.isprintable():
        return ""
    rooted = src.startswith("/") and not src.startswith("//")
    try:
        parts = urlsplit(urljoin(page_url, folder_url + src if rooted else src))
    except ValueError:
        return ""
    if parts.netloc and parts.scheme in ("", "http", "https"):
        return encoded_url(parts._replace(scheme=parts.scheme or "https").geturl())
    is_path = parts.path.startswith("/") and not (parts.netloc or parts.scheme)
    return encoded_url(parts.geturl()) if is_path else ""


def shown_text(root: HtmlElement) -> PageText:
    """Return the text of a parsed page by blocks."""
    page = deepcopy(root)
    for console in fallback().select("console", page):
        show_console(console)
    for element in fallback().select("unshown", page):
        element.drop_tree()
    etree.strip_tags(page, *INLINE)
    return PageText.of(filter(str.strip, page.itertext()))


def page_at(files: SourceFiles, base_url: str, url: str) -> BuiltPage | None:
    """Return the page that a static host serves at this URL; None if there is no file.

    `base_url` is the URL of the folder in the book's links.
    """
    path, base = urlsplit(url).path, urlsplit(base_url).path.rstrip("/")
    inside = path.removeprefix(f"{base}/") if path.startswith(f"{base}/") else ""
    name = unquote(inside).strip("/")
    tries = (name, f"{name}.html", f"{name}/index.html") if name else ("index.html",)
    file = next(filter(files.has, reversed(tries) if inside.endswith("/") else tries), "")
    return read_page(files.data(file)) if file else None


def read_page(html: bytes) -> BuiltPage:
    """Read the ids and the text of a page, also in closed details and hidden tabs."""
    root = parse(html, "")
    return BuiltPage(frozenset(map(str, root.xpath("//@id | //a/@name"))), shown_text(root))
