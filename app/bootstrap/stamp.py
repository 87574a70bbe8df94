"""Writes the paragraph ids of a book into the pages of its built site."""

from __future__ import annotations

from pathlib import Path

from app.adapters.reading.book import is_built_site
from app.adapters.reading.tree import stamped
from app.bootstrap.books import read_identified, requests_by_edition
from app.domain.document import BlockKind, Document
from app.domain.errors import InputError
from app.services.ingest import IngestRequest
from app.services.safe_paths import file_inside
from app.settings import Settings


async def stamp_site(request: IngestRequest, settings: Settings) -> list[int]:
    """Give the element of each paragraph its id, in all editions of a site.

    Returns the number of new ids of each page. InputError if the folder is not a built site;
    BookError and FileRefused as in reading it.
    """
    folder = request.folder
    if not folder.is_dir() or not is_built_site(folder):
        message = f"{folder}: no folder of built pages: build the site and give its folder"
        raise InputError(message)
    return [
        _stamp_page(file_inside(folder.resolve(), document.file), document)
        for one in requests_by_edition(request)
        for document in (await read_identified(one, settings, mark=True)).documents
    ]


def _stamp_page(file: Path, document: Document) -> int:
    blocks = [one for one in document.blocks if one.kind is not BlockKind.HEADING]
    # A text between elements is said to be where the block before it is.
    first = {one.start: one for one in reversed(blocks) if one.start >= 0}
    places = {at: one.paragraph_id for at, one in first.items() if not one.element_id}
    before = file.read_bytes()
    html, new = stamped(before, places)
    if html != before:
        part = file.with_name(f"{file.name}.part")
        part.write_bytes(html)
        part.replace(file)
    return new
