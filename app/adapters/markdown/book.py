"""Reads a folder, or a single file, as a book."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from app.adapters.markdown.book_files import BookFiles
from app.adapters.markdown.broken_links import check_references
from app.adapters.markdown.documents import PageDraft, build_document, draft_page, title_of
from app.adapters.markdown.opening import open_folder, open_page
from app.adapters.markdown.parser.file_reader import FileReader
from app.adapters.markdown.parser.page_includes import FileContext
from app.adapters.markdown.site_map import Layout, SitePage, SiteSettings, inside
from app.adapters.markdown.source import make_source
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book, Document, Site, SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError, FileRefused
from app.domain.identity import assign_ids
from app.domain.languages import language_of_text
from app.services.gc_control import paused_gc

_NO_TITLES = ("readme", "index")
_HOME = re.compile(rf"(?:{'|'.join(_NO_TITLES)})\.\w+$", re.I)
_SLUG = 48
"""Maximum characters of a folder's name in a book id."""
_READ_AT_ONCE = 1 << 20
_SAMPLE = 1_000
"""Paragraphs from which the language is detected."""
_TEMPLATE_LANGUAGE = "en"
"""The language in a new site's configuration, which many authors leave there."""


@paused_gc()
def read_book(
    folder: Path,
    *,
    book_id: BookId | None = None,
    site: Site | None = None,
    base_url: str = "",
    include_orphans: bool = False,
    skip_refused: bool = False,
    edition: Edition = ONLY,
    part: str = "",
    advance: Callable[[int], None] | None = None,
) -> Book:
    """Read a book's folder, or a single Markdown file, into typed blocks.

    If `site` is None, the site generator is detected from its configuration. One edition is read,
    see `editions_of`; with a `part`, see `site_around`, only its pages, with files relative to it.
    `advance` is called with 1 after each page.

    BookError if there is nothing to read. FileRefused if a file exceeds the reading budget or a
    page is not UTF-8; with `skip_refused` that page is left out with a warning instead.
    """
    folder = _existing(folder)
    book_files, layout = open_folder(folder, site, base_url, edition, part)
    context = _context(book_files, layout)
    pages = _Pages(book_files, layout, context, skip_refused, advance)
    drafts = list(pages.read(layout.pages))
    left_out = [page for page in layout.orphans if page.file not in context.partials]
    if include_orphans:
        drafts.extend(pages.read(left_out))
        left_out = []
    if not any(page_draft.drafts for page_draft in drafts):
        raise BookError(_no_text(folder, layout.settings), str(folder))
    given = folder / part
    name = given.stem if given.is_file() else given.resolve().name
    own_id = edition.id_of(book_id or book_id_of(name))
    book = _finished(own_id, book_files, layout, context, drafts, tuple(left_out))
    return _relative_to(part if given.is_dir() else posixpath.dirname(part), book) if part else book


def _no_text(folder: Path, settings: SiteSettings) -> str:
    wanted = "give the folder that holds the book's Markdown files or notebooks"
    configured = posixpath.normpath(posixpath.join(folder, settings.configured_folder))
    if configured == posixpath.normpath(folder):
        return f"no text found: {wanted}"
    return f"no text found: by the site's configuration it is in {configured!r}: {wanted}"


def _relative_to(folder: str, book: Book) -> Book:
    """Return the book with its files relative to a folder of the site's, as if it were read alone.

    So a page keeps its chunk ids, whether the site's configuration is found or not.
    """

    def moved(file: str) -> str:
        return posixpath.relpath(file, folder) if file and folder else file

    def moved_page(page: Document) -> Document:
        file = moved(page.file)
        blocks = tuple(replace(block, file=file) for block in page.blocks)
        return replace(page, file=file, blocks=blocks)

    return replace(
        book,
        documents=tuple(map(moved_page, book.documents)),
        orphans=tuple(map(moved, book.orphans)),
        warnings=tuple(replace(one, file=moved(one.file)) for one in book.warnings),
    )


def _existing(folder: Path) -> Path:
    """Return the folder, or the file that a symbolic link stands for."""
    if not folder.exists():
        message = "no such file or folder: give the path of the book's folder"
        raise BookError(message, str(folder))
    return folder.resolve() if folder.is_symlink() and folder.is_file() else folder


def editions_of(
    folder: Path, *, site: Site | None = None, base_url: str = "", part: str = ""
) -> tuple[Edition, ...]:
    """Return the editions of a book's folder, or of a part of it, the default one first.

    BookError if it cannot be read or has no pages.
    """
    if not _existing(folder).is_dir():
        return (ONLY,)
    _, layout = open_folder(folder, site, base_url)
    if not layout.pages and not layout.orphans:
        raise BookError(_no_text(folder, layout.settings), str(folder))
    found = tuple(layout.settings.editions)
    if part:
        found = tuple(
            one for one in found if open_folder(folder, site, base_url, one, part)[1].pages
        )
    return found or (ONLY,)


def _finished(
    book_id: BookId,
    book_files: BookFiles,
    layout: Layout,
    context: FileContext,
    drafts: list[PageDraft],
    left_out: tuple[SitePage, ...],
) -> Book:
    """Make the book from the drafts of its pages."""
    settings = layout.settings
    declared, found = settings.language, _language_of(drafts)
    language = found if declared in ("", _TEMPLATE_LANGUAGE) else declared
    unresolved = check_references(drafts, book_files, layout)
    drafts = _with_chapters(drafts)
    documents = _documents(drafts, language, declared)
    if declared and declared != language:
        message = f"the site's language is {declared}, but the text is {language}: read as that"
        context.warnings.append(SourceWarning(message, documents[0].file, 0))
    return Book(
        book_id,
        settings.title or _home(documents, settings).title,
        layout.generator.site,
        settings.base_url,
        language,
        _version(book_files, {page.file for page in documents} | context.partials),
        documents,
        tuple(page.file for page in left_out),
        (*layout.warnings, *context.warnings, *unresolved, *book_files.refusals()),
    )


def _home(documents: tuple[Document, ...], settings: SiteSettings) -> Document:
    """Return the page that names the book: the first in its table of contents, else its README."""
    listed = settings.contents is not None or settings.pages is not None
    own = () if listed else documents
    named = (page for page in own if page.title.lower() not in _NO_TITLES)
    home = (page for page in named if _HOME.match(inside(settings.folder, page.file)))
    return next(home, documents[0])


@dataclass(frozen=True, slots=True)
class _Pages:
    """Reads a book's pages one after the other."""

    book_files: BookFiles
    layout: Layout
    context: FileContext
    skip_refused: bool
    advance: Callable[[int], None] | None

    def read(self, pages: Iterable[SitePage]) -> Iterator[PageDraft]:
        """Yield the drafts of each page; a refused one is left out or raises FileRefused.

        Pages that the site excludes from its own search are left out.
        """
        reader = FileReader(self.context, self.layout.style_of)
        for page in pages:
            try:
                source = make_source(self.book_files.require(page.file), page.file)
                if not self.layout.generator.is_unsearchable(source.front_matter):
                    yield draft_page(page, source, reader)
            except FileRefused as error:
                if not self.skip_refused:
                    message = f"{error.problem}, or leave the page out with --skip-refused"
                    raise FileRefused(message, error.file, error.line) from error
                self.context.warnings.append(_left_out(page, error))
            if self.advance is not None:
                self.advance(1)


def _left_out(page: SitePage, error: FileRefused) -> SourceWarning:
    """Return the warning for a page left out because it, or a file it includes, was refused."""
    own = error.file == page.file
    reason = error.problem if own else str(error)
    return SourceWarning(f"left out: {reason}", page.file, error.line if own else 0)


def _with_chapters(page_drafts: list[PageDraft]) -> list[PageDraft]:
    """Name the chapter of each page: as the table of contents does, a single page by its title."""
    titles = {one.page.file: title_of(one) for one in page_drafts}
    pages = [one.page for one in page_drafts]
    heads = {page.chapter_file for page in pages if page.chapter_file != page.file}

    def named(page: SitePage) -> SitePage:
        is_single = page.file not in heads and page.chapter_file in ("", page.file)
        listed = "" if is_single and page.chapter == page.title else page.chapter
        chapter = listed or titles.get(page.chapter_file) or titles[page.file]
        return replace(page, chapter=chapter)

    return [replace(one, page=named(one.page)) for one in page_drafts]


def _language_of(page_drafts: list[PageDraft]) -> str:
    """Detect the language of the prose."""
    drafts = (draft for page_draft in page_drafts for draft in page_draft.drafts)
    prose = (draft.text for draft in drafts if draft.kind is BlockKind.PARAGRAPH)
    return language_of_text("\n".join(islice(prose, _SAMPLE)))


def _documents(
    page_drafts: list[PageDraft], language: str, declared: str = ""
) -> tuple[Document, ...]:
    """Make the documents; a page whose language is the site's `declared` one is in `language`."""
    texts = [page_draft.source.finish() for page_draft in page_drafts]
    ids = iter(assign_ids(pair for page_draft in page_drafts for pair in page_draft.id_texts()))
    return tuple(
        build_document(
            page_draft,
            text,
            position,
            ids,
            language if page_draft.page.language in ("", declared) else page_draft.page.language,
        )
        for position, (page_draft, text) in enumerate(zip(page_drafts, texts, strict=True))
    )


def read_text(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page from a string. It cannot include files."""
    layout = open_page(site, file, "")
    reader = FileReader(_context(BookFiles(None), layout), layout.style_of)
    page_draft = draft_page(layout.pages[0], make_source(text, file), reader)
    return _documents([page_draft], _language_of([page_draft]))[0]


def _context(book_files: BookFiles, layout: Layout) -> FileContext:
    settings = layout.settings
    return FileContext(
        book_files,
        layout.dialect,
        settings.site_root,
        settings.references,
        settings.cross_references,
        settings.substitutions,
        partials=set(settings.reference_files),
    )


def book_id_of(name: str) -> BookId:
    """Make a book id from a folder's name: lower case, dashes for other characters.

    If characters are lost, a hash of the name is added, so that different names give different ids.
    """
    words = re.sub(r"[^\w]+|_", "-", name.lower()).strip("-") or "book"
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_SLUG]
    if slug != words:
        slug = f"{slug or 'book'}-{sha256(name.encode(errors='surrogateescape')).hexdigest()[:8]}"
    return BookId(slug)


def _version(book_files: BookFiles, files: set[str]) -> str:
    digest = sha256()
    for file in sorted(files):
        digest.update(file.encode() + b"\0")
        with book_files.path(file).open("rb") as opened:
            while part := opened.read(_READ_AT_ONCE):
                digest.update(part)
        digest.update(b"\0")
    return digest.hexdigest()[:16]
