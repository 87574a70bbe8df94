"""Reads a page of Markdown from a string, for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.adapters.reading.documents import PageInfo, with_ids
from app.adapters.reading.pages import PageReader
from app.adapters.reading.source_files import SourceFiles
from app.domain.document import BlockKind, Document, Site
from app.domain.errors import BookError
from app.domain.languages import language_of_text


def read_text(text: str, *, site: Site = Site.PLAIN, file: str = "page.md") -> Document:
    """Read a page as a book of its own. It cannot include files."""
    page = PageReader(SourceFiles(Path("/nowhere"))).markdown(PageInfo(file, ""), text, site)
    if page is None:
        raise BookError("no text found", file)
    prose = (block.text for block in page.blocks if block.kind is BlockKind.PARAGRAPH)
    return replace(with_ids([page])[0], language=language_of_text("\n".join(prose)))
