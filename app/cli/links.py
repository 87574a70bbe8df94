"""The commands `links` and `stamp`: what links to paragraphs need on the book's site."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import urldefrag

from typer import Argument, Option

from app.bootstrap.books import built_site
from app.bootstrap.stamp import stamp_site
from app.bootstrap.storage import ledger_store, open_index
from app.cli.books import naming_the_books, with_editions
from app.cli.options import IndexedBook, Json, OneBook
from app.cli.output import print_json, remark
from app.cli.running import command
from app.domain.book_id import BookId
from app.domain.edition import site_root
from app.domain.errors import InputError
from app.domain.ledger import to_lines
from app.domain.retrieval.query import SearchFilter
from app.services.check_links import DeepLink, check_links
from app.services.ingest import IngestRequest
from app.services.ports import VectorIndex
from app.settings import Settings


@command()
async def links(
    settings: Settings,
    book: IndexedBook,
    ledger: Annotated[
        bool, Option("--ledger", help="Print the ids, to keep in the book's repository.")
    ] = False,
    check: Annotated[
        str | None, Option(metavar="SITE", help="A site's URL or folder, to find broken links.")
    ] = None,
    json: Json = False,
) -> int:
    """Print the links of a book's paragraphs, or check them.

    With --check the exit code is 1 if a link is broken.
    """
    if ledger:
        known = await ledger_store(settings).load(book)
        if not known.entries:
            message = f"no ledger for book {book!r} in {settings.home}: ingest the book first"
            raise InputError(message)
        sys.stdout.writelines(f"{line}\n" for line in to_lines(known))
        return 0
    base_url, found = await _links(settings, book)
    if check is not None:
        return await _check(settings, found, check, base_url, json=json)
    for link in found:
        print_json(asdict(link))
    return 0


async def _check(
    settings: Settings, found: list[DeepLink], location: str, base_url: str, *, json: bool
) -> int:
    misses = check_links(found, await built_site(location, base_url, settings))
    for miss in misses:
        if json:
            print_json(asdict(miss))
        else:
            print(f"{f'{miss.file} {miss.paragraph_id}'.strip()}: {miss.fault}: {miss.url}")
    pages = {urldefrag(link.url).url for link in found}
    remark(f"{len(found):,} links on {len(pages):,} pages, {len(misses):,} misses")
    return 1 if misses else 0


async def _links(settings: Settings, book: BookId) -> tuple[str, list[DeepLink]]:
    """Return the URL of the site's root, and the links of all editions on it in reading order."""
    async with open_index(settings) as index, naming_the_books(index, book):
        editions = await with_editions(index, book)
        found = [link for one in editions for link in await _links_of(index, one)]
        manifests = (await index.books()).named()
        return site_root([one.base_url for one in manifests if one.book.name == book.name]), found


async def _links_of(index: VectorIndex, book: BookId) -> list[DeepLink]:
    """Return the links of all paragraphs; a paragraph that is in several chunks appears once."""
    chunks = await index.matching(SearchFilter(books=(book,)))
    chunks.sort(key=lambda chunk: (chunk.position, chunk.file, chunk.chunk_index))
    found: dict[str, DeepLink] = {}
    for chunk in chunks:
        for one in chunk.passages:
            link = DeepLink(one.paragraph_id, one.url, one.kind.value, chunk.file, one.start)
            found.setdefault(one.paragraph_id, link)
    return [link for paragraph_id, link in found.items() if paragraph_id]


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
