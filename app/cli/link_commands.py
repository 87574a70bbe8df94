"""The commands `links` and `stamp`: deep links of paragraphs, and their ids on the built site."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from app.bootstrap.books import read_identified, requests_by_edition
from app.bootstrap.built_sites import built_site
from app.bootstrap.stamp import stamp_site
from app.bootstrap.storage import open_index
from app.cli.index_commands import naming_the_books, with_editions
from app.cli.output import print_json
from app.cli.printing import remark
from app.domain.book_id import BookId
from app.domain.document import Book
from app.domain.edition import site_root
from app.domain.errors import InputError
from app.domain.page_links import page_links
from app.domain.retrieval.query import SearchFilter
from app.services.check_links import DeepLink, Miss, check_links
from app.services.ingest import IngestRequest
from app.services.ports import VectorIndex
from app.settings import Settings


async def links(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print or check the links of an indexed book (as ingested) or of a folder (current files).

    With `--check` the exit code is 1 if a link is broken.
    """
    base_url, found = await _links(arguments, settings)
    if arguments.check is None:
        for link in found:
            print_json(asdict(link))
        return 0
    async with built_site(arguments.check, base_url) as site:
        checked = await check_links(found, site)
    for miss in checked.misses:
        if arguments.json:
            print_json(asdict(miss))
        else:
            print(_line(miss))
    remark(f"{checked.links:,} links on {checked.pages:,} pages, {len(checked.misses):,} misses")
    return 1 if checked.misses else 0


async def stamp(arguments: argparse.Namespace, settings: Settings) -> None:
    """Write the ids of paragraphs into the HTML of a built site."""
    request = IngestRequest(arguments.path, book=arguments.book, base_url=arguments.base_url)
    done = await stamp_site(request, settings)
    remark(
        f"{done.new:,} ids written on {done.pages:,} pages; {done.present:,} paragraphs had one, "
        f"{done.without:,} have no element of their own"
    )


def _line(miss: Miss) -> str:
    where = f"{miss.file} {miss.paragraph_id}".strip()
    return f"{where}: {miss.fault}: {miss.url}"


async def _links(arguments: argparse.Namespace, settings: Settings) -> tuple[str, list[DeepLink]]:
    """Return the URL of the site's root and the links in reading order."""
    if Path(arguments.book).exists():
        request = IngestRequest(
            Path(arguments.book), site=arguments.site, base_url=arguments.base_url
        )
        books = [await read_identified(one, settings) for one in requests_by_edition(request)]
        return books[0].base_url, [link for book in books for link in _links_of_source(book)]
    try:
        asked = BookId(arguments.book)
    except InputError:
        message = f"{arguments.book}: neither a book's folder nor the name of an indexed book"
        raise InputError(message) from None
    async with open_index(settings) as index, naming_the_books(index, asked):
        # The other editions of a book are on the same site.
        editions = await with_editions(index, asked)
        found = [link for book in editions for link in await _links_of_index(index, book)]
        manifests = (await index.books()).named()
        roots = [one.base_url for one in manifests if one.book.name == asked.name]
        return site_root(roots), found


def _links_of_source(book: Book) -> Iterator[DeepLink]:
    for document in book.documents:
        for block, url in zip(document.blocks, page_links(document), strict=True):
            if block.paragraph_id:
                yield DeepLink(block.paragraph_id, url, block.kind.value, block.file, block.start)


async def _links_of_index(index: VectorIndex, book: BookId) -> list[DeepLink]:
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
