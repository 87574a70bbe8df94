"""A folder (or one file) read as a book."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from app.adapters.markdown.includes import Library
from app.adapters.markdown.marks import MarkClass
from app.adapters.markdown.pieces import Piece
from app.adapters.markdown.reader import FileContext, FileReader
from app.adapters.markdown.sections import classify
from app.adapters.markdown.sites import docusaurus, mdbook, plain
from app.adapters.markdown.sites.layout import Layout, Page
from app.adapters.markdown.source import SourceFile, front_text, read_source
from app.domain.document import Block, BlockKind, Book, Document, Site, Span
from app.domain.errors import BookError
from app.domain.identity import assign_ids

_OPENERS = {
    Site.DOCUSAURUS: docusaurus.open_docusaurus,
    Site.MDBOOK: mdbook.open_mdbook,
    Site.PLAIN: plain.open_plain,
}


_RARE_BLANK = re.compile(r"[^\S \n\t\r]")


def read_book(
    folder: Path,
    *,
    book_id: str | None = None,
    site: Site | None = None,
    base_url: str = "",
    include_orphans: bool = False,
) -> Book:
    """Read a book's folder, or a single Markdown file, into typed blocks.

    The site generator is found by its configuration when `site` is None. BookError if there is
    nothing to read or a file is not UTF-8.
    """
    if not folder.exists():
        raise BookError("no such file or folder", str(folder))
    if folder.is_file():
        root, layout = folder.parent, _single(folder, site, base_url)
    else:
        root = folder
        layout = _OPENERS[site or detect_site(folder)](Library(folder), base_url)
    pages = (*layout.pages, *(layout.orphans if include_orphans else ()))
    context = FileContext(Library(root), layout.dialect, layout.style, layout.site_root)
    reader = FileReader(context)
    drafts = [_read_page(root, page, reader) for page in pages]
    if not any(pieces for _, pieces, _ in drafts):
        raise BookError(
            "no text found: not a book's folder, or its table of contents is empty", str(folder)
        )
    ids = iter(
        assign_ids(
            (piece.id_text if _has_word(piece.id_text) else piece.text, piece.author_id)
            for _, pieces, _ in drafts
            for piece in pieces
        )
    )
    documents = []
    for position, (page, (source, pieces, marks)) in enumerate(zip(pages, drafts, strict=True)):
        documents.append(_document(page, position, source, pieces, marks, ids, layout))
    orphans = (
        ()
        if include_orphans
        else tuple(page.file for page in layout.orphans if page.file not in context.partials)
    )
    return Book(
        book_id or slug_of(folder.stem if folder.is_file() else folder.resolve().name),
        layout.title or documents[0].title,
        layout.site,
        layout.base_url,
        layout.language,
        _version(documents, root, context.partials),
        tuple(documents),
        orphans,
        (*layout.warnings, *context.warnings),
    )


def detect_site(folder: Path) -> Site:
    """Return the site generator whose configuration the folder holds, else plain."""
    library = Library(folder)
    if docusaurus.find_config(library):
        return Site.DOCUSAURUS
    if (folder / "book.toml").is_file():
        return Site.MDBOOK
    return Site.PLAIN


def slug_of(name: str) -> str:
    """Return a name that is fit for an id: lower case, letters, digits and dashes."""
    return re.sub(r"[^\w]+|_", "-", name.lower()).strip("-") or "book"


def _single(path: Path, site: Site | None, base_url: str) -> Layout:
    chosen = site or (Site.DOCUSAURUS if path.suffix == ".mdx" else Site.PLAIN)
    dialects = {
        Site.DOCUSAURUS: (replace(docusaurus.DIALECT, math=True), docusaurus.DOCUSAURUS),
        Site.MDBOOK: (mdbook.DIALECT, mdbook.MDBOOK),
        Site.PLAIN: (plain.DIALECT, plain.GITHUB),
    }
    dialect, style = dialects.get(chosen, dialects[Site.PLAIN])
    return Layout(chosen, dialect, style, (Page(path.name, base_url),), base_url=base_url)


def _read_page(
    root: Path, page: Page, reader: FileReader
) -> tuple[SourceFile, list[Piece], list[tuple[MarkClass, int, int]]]:
    source = read_source(root / page.file, page.file)
    parsed = reader.read(source)
    marks = parsed.marks
    if source.body_start:
        marks.append((MarkClass.FRONT_MATTER, 0, source.body_start))
    hint = front_text(source.front_matter, "title") or page.title or PurePosixPath(page.file).stem
    return source, [piece for piece in classify(parsed.pieces, hint) if piece.text], marks


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _document(
    page: Page,
    position: int,
    source: SourceFile,
    pieces: list[Piece],
    marks: list[tuple[MarkClass, int, int]],
    ids: object,
    layout: Layout,
) -> Document:
    assert hasattr(ids, "__next__")
    title, title_heading = _title_of(page, source, pieces)
    blocks: list[Block] = []
    stack: list[tuple[int, str, str]] = []
    title_anchor = ""
    for piece in pieces:
        if piece.kind is BlockKind.HEADING:
            if piece is title_heading:
                stack, title_anchor = [], piece.anchor
            else:
                while stack and stack[-1][0] >= piece.level:
                    stack.pop()
                stack.append((piece.level, piece.text, piece.anchor))
        anchor = next((entry[2] for entry in reversed(stack) if entry[2]), title_anchor)
        blocks.append(
            Block(
                piece.kind,
                piece.text,
                page.file,
                piece.start,
                piece.end,
                (title, *(entry[1] for entry in stack)),
                anchor,
                f"{page.url}#{anchor}" if anchor else page.url,
                next(ids),
                piece.level if piece.kind is BlockKind.HEADING else 0,
                piece.language,
                piece.title,
                piece.terms,
                piece.parts,
                piece.included,
                piece.author_id,
                piece.runs,
            )
        )
    covered, nonblank, unknown = _coverage(source, blocks, marks)
    settings = {
        key: str(value) for key, value in source.front_matter.items() if key.startswith("rag_")
    }
    return Document(
        page.file,
        title,
        page.chapter or title,
        page.url,
        source.text,
        tuple(blocks),
        position,
        page.language or layout.language,
        covered,
        nonblank,
        unknown,
        settings,
    )


def _title_of(page: Page, source: SourceFile, pieces: list[Piece]) -> tuple[str, Piece | None]:
    """Return the page's title and the heading that shows it, if there is one."""
    headings = [piece for piece in pieces if piece.kind is BlockKind.HEADING]
    front = front_text(source.front_matter, "title")
    if headings and headings[0].level == 1:
        return headings[0].text, headings[0]
    if front:
        return front, None
    if headings and headings[0] is pieces[0]:
        return headings[0].text, headings[0]
    return page.title or PurePosixPath(page.file).stem, None


def _coverage(
    source: SourceFile, blocks: list[Block], marks: list[tuple[MarkClass, int, int]]
) -> tuple[int, int, tuple[Span, ...]]:
    """Count the non-blank characters inside blocks or mark-up, and list what is in neither."""
    text = source.text
    spans = [(block.start, block.end) for block in blocks]
    spans.extend((start, end) for _, start, end in marks)
    spans.sort()
    unknown: list[Span] = []
    position = 1 if text.startswith("\ufeff") else 0
    missing = 0
    for start, end in [*spans, (len(text), len(text))]:
        if start > position:
            gap = text[position:start]
            if not gap.isspace():
                lead = len(gap) - len(gap.lstrip())
                unknown.append((position + lead, position + len(gap.rstrip())))
                missing += len("".join(gap.split()))
        position = max(position, end)
    blank = sum(map(text.count, " \n\t\r"))
    if not text.isascii():
        blank += len(_RARE_BLANK.findall(text)) + text.startswith("\ufeff")
    nonblank = len(text) - blank
    return nonblank - missing, nonblank, tuple(unknown)


def _version(documents: list[Document], root: Path, partials: set[str]) -> str:
    files = {document.file for document in documents} | partials
    digest = sha256()
    for file in sorted(files):
        digest.update(file.encode() + b"\0" + (root / file).read_bytes() + b"\0")
    return digest.hexdigest()[:16]
