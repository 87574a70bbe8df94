"""Reads Markdown from a string, and books with their paragraph ids, for tests."""

from dataclasses import replace
from pathlib import Path

from app.adapters.reading.book import read_book
from app.adapters.reading.documents import PageInfo
from app.adapters.reading.pages import PageReader
from app.adapters.reading.source_files import SourceFiles
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book, Document, Site
from app.domain.errors import BookError
from app.domain.identity import keep_ids
from app.domain.languages import language_of_text
from app.domain.ledger import Ledger
from app.domain.page_links import page_links
from app.services.ingest_plan import IngestRequest


def identified(book: Book) -> Book:
    return keep_ids(book, Ledger())[0]


def read_folder(folder: Path, site: Site | None = None, base_url: str = "") -> Book:
    return read_book(IngestRequest(folder, site=site, base_url=base_url))


def read_identified(folder: Path) -> Book:
    return identified(read_folder(folder))


def as_book(page: Document) -> Book:
    return Book(BookId("b"), "B", Site.PLAIN, "", page.language, "1", (page,))


def read_page(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page as it is before its paragraphs have ids. It cannot include files."""
    page = PageReader(SourceFiles(Path("/nowhere"))).markdown(PageInfo(file, ""), text, site)
    if page is None:
        raise BookError("no text found", file)
    prose = (block.text for block in page.blocks if block.kind is BlockKind.PARAGRAPH)
    return replace(page, language=language_of_text("\n".join(prose)))


def read_text(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page as a book of its own."""
    return identified(as_book(read_page(text, site=site, file=file))).documents[0]


def assert_sound(page: Document) -> None:
    """Spans lie in the file; blocks have a text, an id and a link."""
    size = len(page.source)
    for block in page.blocks:
        assert block.text.strip(), block
        assert 0 <= block.start <= block.end <= size, block
    ids = [block.paragraph_id for block in page.blocks]
    assert len(ids) == len(set(ids))
    assert len(page_links(page)) == len(page.blocks)
