"""Reads a folder of Markdown, a single file or a built site as a book."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

from app.adapters.reading.blocks import page_drafts
from app.adapters.reading.documents import PageDraft, PageInfo, build_document, draft_page
from app.adapters.reading.markdown.includes import expand
from app.adapters.reading.markdown.render import render
from app.adapters.reading.markdown.sites import SourcePage, SourceSite, open_page, open_sources
from app.adapters.reading.prompt_injections import prompt_injections
from app.adapters.reading.source_files import SourceFiles, front_matter
from app.adapters.reading.themes import Theme, fallback
from app.adapters.reading.tree import page_tree, parse
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book, Document, Site, SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError, FileRefused
from app.domain.identity import assign_ids
from app.domain.languages import language_of_text
from app.services.gc_control import paused_gc

_SLUG = 48
"""Maximum characters of a folder's name in a book id."""
_SAMPLE = 1_000
"""Paragraphs from which the language is detected."""
_TEMPLATE_LANGUAGE = "en"
"""The language in a new site's configuration, which many authors leave there."""
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
    advance: Callable[[int], None] | None = None,
) -> Book:
    """Read a folder or a single file into blocks; `advance` is called with 1 after each page.

    If `site` is None, it is a built site if it holds HTML pages and no configuration or pages of
    Markdown; else the generator is recognised by its configuration.

    BookError if there is nothing to read. FileRefused if a page is too large, not UTF-8 or broken;
    with `skip_refused` that page is left out with a warning instead.
    """
    folder = _existing(folder)
    own_id = edition.id_of(book_id or book_id_of(_name_of(folder)))
    reading = _Reading(skip_refused, advance)
    if folder.is_file():
        files = SourceFiles(folder.parent)
        opened = open_page(folder.name, site, base_url)
    else:
        files = SourceFiles(folder)
        opened = open_sources(files, site, base_url)
    drafts = list(reading.source_pages(files, opened))
    if not drafts:
        raise BookError("no text found: give the folder that holds the book's pages", str(folder))
    return _book(own_id, opened, files, drafts, reading)


def _existing(folder: Path) -> Path:
    if not folder.exists():
        message = "no such file or folder: give the path of the book's folder"
        raise BookError(message, str(folder))
    return folder.resolve() if folder.is_symlink() and folder.is_file() else folder


def _name_of(folder: Path) -> str:
    return folder.stem if folder.is_file() else folder.resolve().name


class _Reading:
    """Reads the pages of a book one after the other, and keeps what is to be said of them."""

    def __init__(self, skip_refused: bool, advance: Callable[[int], None] | None) -> None:
        self._skip_refused = skip_refused
        self._advance = advance
        self.warnings: list[SourceWarning] = []
        self.unknown: list[SourceWarning] = []
        """Places that only the site's generator can resolve."""

    def source_pages(self, files: SourceFiles, site: SourceSite) -> Iterator[PageDraft]:
        """Yield the pages of a folder of Markdown that have text."""
        for page in site.pages:
            try:
                draft = self._source_page(files, site, page)
            except FileRefused as error:
                self._refused(error, page.file)
            else:
                yield from [draft] if draft is not None else []
            if self._advance is not None:
                self._advance(1)

    def _refused(self, error: FileRefused, file: str) -> None:
        if not self._skip_refused:
            message = f"{error.problem}, or leave the page out with --skip-refused"
            raise FileRefused(message, error.file, error.line) from error
        self.warnings.append(SourceWarning(f"left out: {error.problem}", file, error.line))

    def _source_page(
        self, files: SourceFiles, site: SourceSite, page: SourcePage
    ) -> PageDraft | None:
        source = files.text(page.file)
        front, skip = front_matter(source, page.file)
        insert = partial(expand, file=page.file, files=files)
        is_mdbook = site.site is Site.MDBOOK
        is_mdx = page.file.endswith(".mdx")
        rendered = (
            render(source, site.site, skip, insert, jsx=is_mdx)
            if is_mdbook
            else render(source, site.site, skip, jsx=is_mdx)
        )
        self.unknown += [SourceWarning(what, page.file, line) for line, what in rendered.unknown]
        info = PageInfo(
            page.file,
            page.url,
            str(front.get("title") or page.title or ""),
            page.chapter,
            page.chapter_number,
            settings={key: str(one) for key, one in front.items() if key.startswith("rag_")},
        )
        self._warn_of_injections(source, page.file)
        return self.page(info, f"<main>{rendered.html}</main>".encode(), fallback(), source)

    def page(
        self, info: PageInfo, html: bytes, theme: Theme | None, source: str | None = None
    ) -> PageDraft | None:
        """Return the page with its blocks; None if it has none."""
        tree = page_tree(parse(html, info.file), theme)
        if tree is None:
            return None
        for text in tree.hidden:
            shown = text[:60]
            message = f"hidden text is not read: {shown!r}"
            self.warnings.append(SourceWarning(message, info.file, 0))
        words = Counter(_WORD.findall(tree.content.text_content()))
        draft = draft_page(info, page_drafts(tree, info.file), source)
        return replace(draft, words=words.total(), unread=_unread(words, draft)) if draft.drafts else None

    def _warn_of_injections(self, text: str, file: str) -> None:
        for line, meaning in prompt_injections(text):
            message = f"the text {meaning}: it may be meant for a language model"
            self.warnings.append(SourceWarning(message, file, line))

    def notes(self) -> list[SourceWarning]:
        """Return the warnings, with one for all places that need the built site."""
        if not self.unknown:
            return self.warnings
        first, count = self.unknown[0], len(self.unknown)
        places = "1 place needs" if count == 1 else f"{count:,} places need"
        message = (
            f"{places} the built site (first: `{first.message[:80]}`): build it and ingest its folder"
        )
        return [SourceWarning(message, first.file, first.line), *self.warnings]


def _unread(words: Counter[str], draft: PageDraft) -> tuple[str, ...]:
    """Return the words of a page's content that no block has."""
    for one in draft.drafts:
        words.subtract(_WORD.findall(one.runs))
    return tuple((+words).elements())


def _book(
    book_id: BookId,
    site: SourceSite,
    files: SourceFiles,
    drafts: list[PageDraft],
    reading: _Reading,
) -> Book:
    declared, found = site.language, _language_of(drafts)
    language = found if declared in ("", _TEMPLATE_LANGUAGE) else declared
    documents = _documents(drafts, language)
    return Book(
        book_id,
        site.title or documents[0].title,
        site.site,
        site.base_url,
        language,
        _version(drafts, files),
        documents,
        tuple(site.orphans),
        (*site.warnings, *reading.notes(), *files.warnings),
    )


def _language_of(drafts: Sequence[PageDraft]) -> str:
    """Detect the language of the prose."""
    blocks = (draft for page in drafts for draft in page.drafts)
    prose = (draft.text for draft in blocks if draft.kind is BlockKind.PARAGRAPH)
    return language_of_text("\n".join(islice(prose, _SAMPLE)))


def _documents(drafts: Sequence[PageDraft], language: str) -> tuple[Document, ...]:
    ids = iter(assign_ids(pair for page in drafts for pair in page.id_texts()))
    return tuple(
        build_document(page, position, ids, language) for position, page in enumerate(drafts)
    )


def read_text(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page from a string. It cannot include files."""
    _, skip = front_matter(text, file)
    rendered = render(text, site, skip, jsx=file.endswith(".mdx"))
    page = _Reading(False, None).page(
        PageInfo(file, ""), f"<main>{rendered.html}</main>".encode(), fallback(), text
    )
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


def _version(drafts: Sequence[PageDraft], files: SourceFiles) -> str:
    """Hash the text of all pages and of the files that they include."""
    texts = {page.info.file: page.source or "" for page in drafts}
    texts |= {name: files.text(name) for name in files.partials}
    digest = sha256()
    for file, text in sorted(texts.items()):
        digest.update(f"{file}\0{text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
