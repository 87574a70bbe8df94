"""Reads a folder of Markdown, a single file or a built site as a book."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from app.adapters.reading.documents import OpenedBook, left_out_warning
from app.adapters.reading.markdown.sites import open_page, open_sources, recognised
from app.adapters.reading.pages import PageReader
from app.adapters.reading.shared_text import without_boilerplate
from app.adapters.reading.site_pages import PAGE_SUFFIXES, open_site_folder
from app.adapters.reading.source_files import PAGE_SUFFIXES as MARKDOWN
from app.adapters.reading.source_files import SourceFiles
from app.domain.book_id import BookId
from app.domain.characters import well_formed
from app.domain.document import BlockKind, Book, Document, Site
from app.domain.errors import BookError
from app.domain.languages import language_of_text
from app.services.ingest_plan import IngestRequest
from app.services.phases import Advance, ignore

_SINGLE_FILES = (*MARKDOWN, ".txt", *PAGE_SUFFIXES)
_BUILT = "built pages"
_SLUG = 48
"""Maximum characters of a folder's name in a book id."""
_SAMPLE = 300
"""Paragraphs from which the language is detected."""
_PAGE_SAMPLE = 20
_LEAST_SAMPLE = 300
"""The same of a page, and the least characters of them."""
_PROSE = (BlockKind.PARAGRAPH, BlockKind.SOLUTION)
_OUTPUT_FOLDERS = frozenset(
    "_build _site book build dist docs html out output public site www".split()
)
"""Folders of this name hold a book and do not name it: two books would have one id."""
_TEMPLATE_LANGUAGE = "en"
"""The language in a new site's configuration, which many authors leave there."""
_MANY = 2
"""A folder with more pages of Markdown for each of HTML is Markdown; some sites have each page as
both."""
_PAGE_TAGS = (b"<html", b"<!doctype", b"<head", b"<body", b"http-equiv")


def read_book(request: IngestRequest, advance: Advance = ignore, *, mark: bool = False) -> Book:
    """Read a folder or a single file into blocks; `advance` is called with 1 after each page.

    If the request names no site, it is a built one if it holds HTML pages and no configuration or
    pages of Markdown; else the generator is recognised by its configuration.

    An edition that the request holds as opened is not opened again.

    With `mark` the span of a built page's block is that of a start tag in the page's bytes,
    (-1, -1) if it has none of its own, and documents have no source.

    BookError if there is nothing to read. FileRefused if a page is too large, not UTF-8 or broken.
    """
    folder, edition = _existing(request.folder), request.edition
    own_id = edition.id_of(request.book or book_id_of(book_name(folder)))
    files = SourceFiles(folder if folder.is_dir() else folder.parent)
    reader = PageReader(files, mark=mark)
    given = request.opened
    found = (given,) if isinstance(given, OpenedBook) else open_editions(request)
    opened = next((one for one in found if one.edition == edition), found[0])
    documents: Sequence[Document] = list(reader.read(opened, advance))
    if not documents:
        raise BookError("no text found: give the folder that holds the book's pages", str(folder))
    left_out = {
        reason: [one for one in names if one not in reader.included]
        for reason, names in opened.left_out.items()
    }
    warnings = [left_out_warning(reason, names) for reason, names in left_out.items() if names]
    warnings += [*opened.warnings, *reader.warnings()]
    if opened.pages[0].file.lower().endswith(PAGE_SUFFIXES):
        documents, repeated = without_boilerplate(documents)
        warnings += repeated
    documents = _with_chapters(documents)
    # A page that opens a book, or is all of it, has the book's title; "Introduction" is none.
    first, own = documents[0].file.rpartition("/")[2].lower(), documents[0].title
    opens = len(documents) == 1 or first.startswith(("index.", "readme."))
    is_named = own.lower() not in ("index", "_index", "readme")
    title = opened.title or (own if opens and is_named else well_formed(book_name(folder)))
    if not is_named:
        documents[0] = replace(documents[0], title=title, chapter=title).below(title)
    return replace(_book(own_id, title, opened, documents), warnings=tuple(warnings))


def _with_chapters(documents: Sequence[Document]) -> list[Document]:
    """Name the chapter in the heading paths of pages that share a title, such as "Introduction".

    A chapter that the table of contents names only by its file has the title of that page.
    """
    titles = {one.file: one.title for one in documents}
    documents = [replace(one, chapter=titles.get(one.chapter, one.chapter)) for one in documents]
    count = Counter(one.title for one in documents)
    return [
        one.below(f"{one.chapter}: {one.title}")
        if count[one.title] > 1 and one.chapter != one.title
        else one
        for one in documents
    ]


def open_editions(request: IngestRequest) -> tuple[OpenedBook, ...]:
    """Open the editions of a book, the default one first; sources are one, of this version.

    BookError if the folder is missing or, of a built site, has no page.
    """
    folder, site, base_url = _existing(request.folder), request.site, request.base_url
    if site is None and is_built_site(folder):
        return open_site_folder(folder, base_url)
    if folder.is_dir():
        return (open_sources(SourceFiles(folder), site, base_url, request.edition.version),)
    return (open_page(folder.name, site, base_url),)


def is_built_site(folder: Path) -> bool:
    """Whether this is a folder of built pages, or one of them."""
    if not folder.is_dir():
        return folder.suffix.lower() in PAGE_SUFFIXES
    return detected_site(folder)[0] == _BUILT


def detected_site(folder: Path, site: Site | None = None) -> tuple[str, str]:
    """Return how a folder is read and why: as built pages, or as the Markdown of a generator."""
    if site is not None:
        return site, "as --site says"
    files = SourceFiles(folder)
    kind, config = recognised(files)
    if config:
        return kind, f"it has {config}"
    names = [name.lower() for name in files.names()]
    sources = sum(name.endswith(MARKDOWN) for name in names)
    pages = sum(name.endswith(PAGE_SUFFIXES) for name in names)
    # Scripts of HTML may show the Markdown beside it, as those of Docsify and LiaScript do.
    if pages and sources > _MANY * pages:
        return kind, "it holds more Markdown than HTML"
    index = folder / "index.html"
    shown = [index] if index.is_file() else filter(Path.is_file, folder.glob("*.html"))
    if any(map(_is_built, shown)) or (pages and not sources):
        return _BUILT, "it holds HTML and no configuration"
    return kind, "no generator's configuration"


def _is_built(page: Path) -> bool:
    """Whether HTML is a page: no template of Jekyll's, with front matter, and no part of a page."""
    with page.open("rb") as file:
        start = file.read(2000).lower()
    return not start.startswith(b"---") and any(map(start.__contains__, _PAGE_TAGS))


def _existing(folder: Path) -> Path:
    if not folder.exists():
        message = "no such file or folder: give the book's folder, or a site's https:// address"
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


def _book(book_id: BookId, title: str, site: OpenedBook, documents: Sequence[Document]) -> Book:
    declared = site.language.partition("-")[0]
    is_told = declared not in ("", _TEMPLATE_LANGUAGE)
    language = declared if is_told else _language_of(documents, _SAMPLE)
    # A page in the language that the site declares is in the book's, or in that of its words.
    spoken = [
        one.language
        if one.language not in ("", declared)
        else (language if is_told else _language_of([one], _PAGE_SAMPLE, language))
        for one in documents
    ]
    language = declared if is_told else Counter(spoken).most_common(1)[0][0]
    placed = tuple(
        replace(one, position=position, language=spoken[position])
        for position, one in enumerate(documents)
    )
    return Book(book_id, title, site.site, site.base_url, language, _version(placed), placed)


def _language_of(pages: Sequence[Document], most: int, default: str = "") -> str:
    """Detect the language of the first paragraphs; the default if there is little text."""
    blocks = (block for page in pages for block in page.blocks if block.kind in _PROSE)
    prose = "\n".join(block.text for block in islice(blocks, most))
    return default if default and len(prose) < _LEAST_SAMPLE else language_of_text(prose)


def book_id_of(name: str) -> BookId:
    """Make a book id from a folder's name: lower case, dashes for other characters.

    If characters are lost, a hash of the name is added, so that different names give different ids.
    """
    words = re.sub(r"[^\w]+|_", "-", name.lower()).strip("-") or "book"
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_SLUG]
    if slug != words:
        slug = f"{slug or 'book'}-{sha256(name.encode(errors='surrogateescape')).hexdigest()[:8]}"
    return BookId(slug)


def _version(documents: Sequence[Document]) -> str:
    """Hash the source of all pages, and what their blocks show of other files."""
    digest = sha256()
    for page in sorted(documents, key=lambda page: page.file):
        texts = (page.file, page.source, *(block.text for block in page.blocks))
        digest.update("\0".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
