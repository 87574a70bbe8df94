"""The commands `links` and `stamp`: what links to paragraphs need on the book's site."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from app.bootstrap.books import read_identified, requests_by_edition
from app.bootstrap.built_sites import built_site
from app.bootstrap.stamp import stamp_site
from app.bootstrap.storage import ledger_store, open_index
from app.cli.books import naming_the_books, with_editions
from app.cli.options import Json, OneBook
from app.cli.output import print_json, remark
from app.cli.running import command
from app.domain.book_id import BookId, is_book_id
from app.domain.document import Book
from app.domain.edition import site_root
from app.domain.errors import InputError
from app.domain.ledger import to_lines
from app.domain.page_links import page_links
from app.domain.retrieval.query import SearchFilter
from app.services.check_links import DeepLink, check_links
from app.services.ingest import IngestRequest
from app.services.ports import VectorIndex
from app.settings import Settings


class Form(StrEnum):
    PARAGRAPHS = "paragraphs"
    LEDGER = "ledger"


@command()
async def links(
    settings: Settings,
    book: Annotated[
        str, Argument(metavar="BOOK", help="An indexed book, or a book's folder as it is.")
    ],
    form: Annotated[
        Form,
        Option("--as", help="ledger: the ids, for `ingest --ledger`."),
    ] = Form.PARAGRAPHS,
    check: Annotated[
        str | None, Option(metavar="SITE", help="A site's URL or folder, to find broken links.")
    ] = None,
    json: Json = False,
) -> int:
    """Print the links of a book's paragraphs, or check them.

    With --check the exit code is 1 if a link is broken.
    """
    if check is not None:
        return await _check(settings, book, check, json=json)
    if form is Form.PARAGRAPHS:
        for link in (await _links(settings, book))[1]:
            print_json(asdict(link))
    else:
        ledger = await ledger_store(settings).load(BookId(book))
        if not ledger.entries:
            message = f"no ledger for book {book!r} in {settings.home}: ingest the book first"
            raise InputError(message)
        sys.stdout.writelines(f"{line}\n" for line in to_lines(ledger))
    return 0


async def _check(settings: Settings, book: str, location: str, *, json: bool) -> int:
    base_url, found = await _links(settings, book)
    checked = check_links(found, await built_site(location, base_url, settings))
    for miss in checked.misses:
        if json:
            print_json(asdict(miss))
        else:
            print(f"{f'{miss.file} {miss.paragraph_id}'.strip()}: {miss.fault}: {miss.url}")
    remark(f"{checked.links:,} links on {checked.pages:,} pages, {len(checked.misses):,} misses")
    return 1 if checked.misses else 0


async def _links(settings: Settings, book: str) -> tuple[str, list[DeepLink]]:
    """Return the URL of the site's root and the links in reading order."""
    if Path(book).exists():
        requests = requests_by_edition(IngestRequest(Path(book)))
        books = [await read_identified(one, settings) for one in requests]
        return books[0].base_url, [link for one in books for link in _links_of_source(one)]
    if not is_book_id(book):
        message = f"{book}: neither a book's folder nor the name of an indexed book"
        raise InputError(message)
    asked = BookId(book)
    async with open_index(settings) as index, naming_the_books(index, asked):
        # The other editions of a book are on the same site.
        editions = await with_editions(index, asked)
        found = [link for book in editions for link in await _links_of(index, book)]
        manifests = (await index.books()).named()
        roots = [one.base_url for one in manifests if one.book.name == asked.name]
        return site_root(roots), found


def _links_of_source(book: Book) -> Iterator[DeepLink]:
    for document in book.documents:
        for block, url in zip(document.blocks, page_links(document), strict=True):
            if block.paragraph_id:
                yield DeepLink(block.paragraph_id, url, block.kind.value, block.file, block.start)


async def _links_of(index: VectorIndex, book: BookId) -> list[DeepLink]:
    """Return the links of all paragraphs; a paragraph that is in several chunks appears once."""
    chunks = await index.matching(SearchFilter(books=(book,)))
    chunks.sort(key=lambda chunk: (chunk.position, chunk.file, chunk.chunk_index))
    found = {
        passage.paragraph_id: DeepLink(
            passage.paragraph_id, passage.url, passage.kind.value, chunk.file, passage.start
        )
        for chunk in reversed(chunks)
        for passage in reversed(chunk.passages)
        if passage.paragraph_id
    }
    return list(reversed(found.values()))


@command()
async def stamp(
    settings: Settings,
    site: Annotated[Path, Argument(metavar="SITE_DIR", help="The folder of the built site.")],
    book: OneBook = None,
) -> None:
    """Write the paragraphs' ids into the HTML of a built site, for links without a script.

    Without --book the folder's name is the book's. An element that has an id keeps it; a second
    run changes nothing.
    """
    done = await stamp_site(IngestRequest(site, book=book), settings)
    remark(
        f"{done.new:,} ids written on {done.pages:,} pages; {done.present:,} paragraphs had one, "
        f"{done.without:,} have no element of their own"
    )
