"""Reads a folder of Markdown, a single file or a built site as a book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

from app.adapters.reading.blocks import page_drafts
from app.adapters.reading.documents import PageDraft, PageInfo, build_document, draft_page
from app.adapters.reading.images import resolve_images
from app.adapters.reading.markdown.includes import Expanded, expand
from app.adapters.reading.markdown.render import render
from app.adapters.reading.markdown.sites import (
    SourceSite,
    open_page,
    open_sources,
    recognised,
)
from app.adapters.reading.prompt_injections import prompt_injections
from app.adapters.reading.shown_text import shown_text
from app.adapters.reading.site_pages import PAGE_SUFFIXES, SitePages, counted, open_site_folder
from app.adapters.reading.source_files import SourceFiles, front_matter
from app.adapters.reading.stamping import marked
from app.adapters.reading.tree import Tree, page_tree, parse
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book, Document, Site, SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError, FileRefused
from app.domain.identity import assign_ids
from app.domain.languages import language_of_text
from app.services.gc_control import paused_gc
from app.services.phases import Advance, ignore

_SINGLE_FILES = (".md", ".mdx", ".markdown", ".mdown", ".ipynb", ".txt", *PAGE_SUFFIXES)
_SLUG = 48
"""Maximum characters of a folder's name in a book id."""
_SAMPLE = 1_000
"""Paragraphs from which the language is detected."""
_OUTPUT_FOLDERS = frozenset(
    "_build _site book build dist docs html out output public site www".split()
)
"""Folders of this name hold a book and do not name it: two books would have one id."""
_TEMPLATE_LANGUAGE = "en"
"""The language in a new site's configuration, which many authors leave there."""
_FOLDERS = 1_000
"""Maximum folders below a given one that are searched for a site."""
_WORD = re.compile(r"\w+")


@paused_gc()
def read_book(
    folder: Path,
    *,
    book_id: BookId | None = None,
    site: Site | None = None,
    base_url: str = "",
    skip_refused: bool = False,
    edition: Edition = ONLY,
    advance: Advance = ignore,
    mark: bool = False,
) -> Book:
    """Read a folder or a single file into blocks; `advance` is called with 1 after each page.

    If `site` is None, it is a built site if it holds HTML pages and no configuration or pages of
    Markdown; else the generator is recognised by its configuration.

    With `mark` the span of a built page's block is that of a start tag in the page's bytes,
    (-1, -1) if it has none of its own, and documents have no source.

    BookError if there is nothing to read. FileRefused if a page is too large, not UTF-8 or broken;
    with `skip_refused` that page is left out with a warning instead.
    """
    folder = _existing(folder)
    own_id = edition.id_of(book_id or book_id_of(book_name(folder)))
    reading = _Reading(skip_refused, mark=mark)
    files = SourceFiles(folder if folder.is_dir() else folder.parent)
    opened = _open(folder, files, site, base_url, edition, skip_refused=skip_refused)
    drafts = list(reading.pages(opened, files, advance))
    if not drafts:
        raise BookError("no text found: give the folder that holds the book's pages", str(folder))
    included = {name: files.text(name) for name in files.partials}
    for name, text in included.items():
        reading.warn_of_injections(text, name)
    book = _book(own_id, opened, drafts, included)
    warnings = (*opened.warnings, *reading.notes(), *files.warnings)
    return replace(book, orphans=tuple(opened.orphans), warnings=warnings)


def _open(
    folder: Path,
    files: SourceFiles,
    site: Site | None,
    base_url: str,
    edition: Edition,
    *,
    skip_refused: bool,
) -> SitePages | SourceSite:
    if site is None and is_built_site(folder):
        found = open_site_folder(folder, base_url, skip_refused=skip_refused)
        return next((one for one in found if one.edition == edition), found[0])
    if folder.is_dir():
        return open_sources(files, site, base_url, edition.in_id[0])
    return open_page(folder.name, site, base_url)


def is_built_site(folder: Path) -> bool:
    """Whether a folder holds built pages and neither a generator's configuration nor Markdown."""
    if not folder.is_dir():
        return folder.suffix.lower() in PAGE_SUFFIXES
    files = SourceFiles(folder)
    if recognised(files).config:
        return False
    return any(folder.glob("*.html")) or (
        not files.any_with(".md", ".mdx", ".ipynb", ".markdown") and files.any_with(*PAGE_SUFFIXES)
    )


def detected_site(folder: Path, site: Site | None = None) -> tuple[str, str]:
    """Return how a folder is read and why: as built pages, or as the Markdown of a generator."""
    if site is None and is_built_site(folder):
        return "built pages", "it holds HTML and no Markdown"
    found = recognised(SourceFiles(folder), site)
    return found.site, found.reason


def site_below(folder: Path) -> tuple[str, str] | None:
    """Return the kind and the folder of the first site one or two levels below; None if none."""
    below = islice(chain(folder.glob("[!.]*/"), folder.glob("[!.]*/[!.]*/")), _FOLDERS)
    for path in sorted(below, key=lambda path: (len(path.parts), path)):
        if path.is_dir() and recognised(SourceFiles(path)).config:
            return detected_site(path)[0], path.relative_to(folder).as_posix()
    return None


def editions_of(folder: Path, *, site: Site | None, base_url: str) -> tuple[Edition, ...]:
    """Return the editions of a book's folder, the default one first. BookError if it is missing."""
    folder = _existing(folder)
    if site is not None or not folder.is_dir():
        return (ONLY,)
    if not is_built_site(folder):
        open_sources(SourceFiles(folder), site, base_url)  # raises if there is nothing to read
        return (ONLY,)
    return tuple(one.edition for one in open_site_folder(folder, base_url))


def _existing(folder: Path) -> Path:
    if not folder.exists():
        message = "no such file or folder: give the path of the book's folder"
        raise BookError(message, str(folder))
    if folder.is_file() and folder.suffix.lower() not in _SINGLE_FILES:
        message = "not a page: give Markdown, a notebook, HTML, or a folder of them"
        raise BookError(message, str(folder))
    return folder.resolve() if folder.is_symlink() and folder.is_file() else folder


def book_name(folder: Path) -> str:
    """Name a book by its file or folder; by the folder above one that generators write into."""
    if folder.is_file():
        return folder.stem
    path = folder.resolve()
    names = [one.name for one in (path, *path.parents) if one.name.lower() not in _OUTPUT_FOLDERS]
    return names[0] or path.name


class _Reading:
    """Reads the pages of a book one after the other, and keeps what is to be said of them."""

    def __init__(self, skip_refused: bool, *, mark: bool = False) -> None:
        self._skip_refused = skip_refused
        self._mark = mark
        self._warnings: list[SourceWarning] = []
        self._unknown: list[SourceWarning] = []
        """Places that only the site's generator can resolve."""

    def pages(
        self, site: SitePages | SourceSite, files: SourceFiles, advance: Advance
    ) -> Iterator[PageDraft]:
        """Yield the pages that have text; built ones without are counted."""
        empty: list[str] = []
        for page in site.pages:
            try:
                if isinstance(site, SitePages):
                    draft = self._built_page(page, files.data(page.file))
                    empty += [page.file] if draft is None else []
                else:
                    draft = self._source_page(files, site, page)
            except FileRefused as error:
                self._refused(error, page.file)
            else:
                yield from [draft] if draft is not None else []
            advance(1)
        if empty:
            message = f"{counted(empty)} without text if scripts do not run"
            self._warnings.append(SourceWarning(message, empty[0], 0))

    def _built_page(self, info: PageInfo, html: bytes) -> PageDraft | None:
        root = parse(marked(html) if self._mark else html, info.file)
        resolve_images(root, info.url)
        shown = shown_text(root)
        draft = self._page(info, page_tree(root, info.theme), "" if self._mark else None)
        if draft is None:
            return None
        self.warn_of_injections("\n\n".join(one.text for one in draft.drafts), info.file)
        return replace(draft, shown=shown)

    def _refused(self, error: FileRefused, file: str) -> None:
        if not self._skip_refused:
            message = f"{error.problem}, or leave the page out with --skip-refused"
            raise FileRefused(message, error.file, error.line) from error
        self._warnings.append(SourceWarning(f"left out: {error.problem}", file, error.line))

    def _source_page(
        self, files: SourceFiles, site: SourceSite, page: PageInfo
    ) -> PageDraft | None:
        source = files.text(page.file)
        front, skip = front_matter(source, page.file)
        insert = partial(expand, file=page.file, files=files)
        rendered = render(
            source,
            site.site,
            skip,
            page.file,
            insert if site.site is Site.MDBOOK else Expanded,
            jsx=page.file.endswith(".mdx"),
        )
        self._unknown += [SourceWarning(what, page.file, line) for line, what in rendered.unknown]
        info = replace(
            page,
            title=str(front.get("title") or page.title),
            settings={key: str(one) for key, one in front.items() if key.startswith("rag_")},
        )
        self.warn_of_injections(source, page.file)
        # Other generators move images when they build the site.
        keeps_images = site.site in (Site.PLAIN, Site.MDBOOK)
        return self.rendered(info, rendered.html, source, info.url * keeps_images, site.base_url)

    def rendered(
        self, info: PageInfo, html: str, source: str, page_url: str = "", folder_url: str = ""
    ) -> PageDraft | None:
        """Return a page that is rendered from Markdown; None if it has no blocks.

        `page_url` and `folder_url` as `resolve_images` takes them.
        """
        root = parse(f"<main>{html}</main>".encode("utf-8", "replace"), info.file)
        resolve_images(root, page_url, folder_url)
        page = self._page(info, page_tree(root, info.theme), source)
        return replace(page, html=html) if page is not None else None

    def _page(
        self, info: PageInfo, tree: Tree | None, source: str | None = None
    ) -> PageDraft | None:
        if tree is None:
            return None
        for text in tree.hidden:
            shown = text[:60]
            message = f"hidden text is not read: {shown!r}"
            self._warnings.append(SourceWarning(message, info.file, 0))
        words = Counter(_WORD.findall(" ".join(tree.content.itertext())))
        draft = draft_page(info, page_drafts(tree, info.file), source)
        return (
            replace(draft, words=words.total(), unread=_unread(words, draft))
            if draft.drafts
            else None
        )

    def warn_of_injections(self, text: str, file: str) -> None:
        for line, meaning in prompt_injections(text):
            message = f"the text {meaning}: it may be meant for a language model"
            self._warnings.append(SourceWarning(message, file, line))

    def notes(self) -> list[SourceWarning]:
        """Return the warnings, with one for all places that need the built site."""
        if not self._unknown:
            return self._warnings
        first, count = self._unknown[0], len(self._unknown)
        places = "1 place needs" if count == 1 else f"{count:,} places need"
        shown = f"first: `{first.message[:80]}`"
        message = f"{places} the built site ({shown}): build it and ingest its folder"
        return [SourceWarning(message, first.file, first.line), *self._warnings]


def _unread(words: Counter[str], draft: PageDraft) -> tuple[str, ...]:
    """Return the words of a page's content that no block has."""
    for one in draft.drafts:
        words.subtract(_WORD.findall(f"{one.title} {one.text}"))
    return tuple((+words).elements())


def _book(
    book_id: BookId,
    site: SitePages | SourceSite,
    drafts: list[PageDraft],
    included: Mapping[str, str],
) -> Book:
    declared, found = site.language.partition("-")[0], _language_of(drafts)
    language = found if declared in ("", _TEMPLATE_LANGUAGE) else declared
    documents = _documents(drafts, language, declared)
    version = _version(documents, included)
    title = site.title or documents[0].title
    return Book(book_id, title, site.site, site.base_url, language, version, documents)


def _language_of(drafts: Sequence[PageDraft]) -> str:
    """Detect the language of the prose."""
    blocks = (draft for page in drafts for draft in page.drafts)
    prose = (draft.text for draft in blocks if draft.kind is BlockKind.PARAGRAPH)
    return language_of_text("\n".join(islice(prose, _SAMPLE)))


def _documents(
    drafts: Sequence[PageDraft], language: str, declared: str = ""
) -> tuple[Document, ...]:
    """Make the documents; a page in the site's `declared` language is in `language`."""
    ids = iter(assign_ids(pair for page in drafts for pair in page.id_texts()))
    documents = []
    for position, page in enumerate(drafts):
        own = page.info.language.partition("-")[0]
        spoken = language if own in ("", declared) else own
        documents.append(build_document(page, position, ids, spoken))
    return tuple(documents)


def read_text(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page from a string. It cannot include files."""
    front, skip = front_matter(text, file)
    html = render(text, site, skip, file, jsx=file.endswith(".mdx")).html
    page = _Reading(False).rendered(PageInfo(file, "", str(front.get("title") or "")), html, text)
    if page is None:
        raise BookError("no text found", file)
    return _documents([page], _language_of([page]))[0]


def book_id_of(name: str) -> BookId:
    """Make a book id from a folder's name: lower case, dashes for other characters.

    If characters are lost, a hash of the name is added, so that different names give different ids.
    """
    words = re.sub(r"[^\w]+|_", "-", name.lower()).strip("-") or "book"
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_SLUG]
    if slug != words:
        slug = f"{slug or 'book'}-{sha256(name.encode(errors='surrogateescape')).hexdigest()[:8]}"
    return BookId(slug)


def _version(documents: Sequence[Document], included: Mapping[str, str]) -> str:
    """Hash the text of all pages and of the files that they include."""
    texts = {document.file: document.source for document in documents} | {**included}
    digest = sha256()
    for file, text in sorted(texts.items()):
        digest.update(f"{file}\0{text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
