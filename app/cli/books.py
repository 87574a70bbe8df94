"""Commands on indexed books: books, remove, rollback, verify."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import typer

from app.bootstrap.book_pages import book_pages
from app.bootstrap.local_state import verifying
from app.bootstrap.storage import open_index
from app.cli.options import IndexedBook, Json, SomeBooks, Yes
from app.cli.output import print_json, remark
from app.cli.running import command, searched_place
from app.domain.book_id import BookId
from app.domain.errors import NO_BOOKS, BookNotFound
from app.domain.indexed_book import BookManifest
from app.services.ports import VectorIndex
from app.settings import Settings

_NAMED_FAULTS = 5


@asynccontextmanager
async def naming_the_books(index: VectorIndex, book: BookId) -> AsyncIterator[None]:
    """Add the ids of the indexed books to the message of a BookNotFound from this block."""
    try:
        yield
    except BookNotFound as error:
        raise BookNotFound.among(book, [*await index.books()]) from error


async def with_editions(index: VectorIndex, book: BookId) -> list[BookId]:
    """Return the book and its other editions; for the id of an edition, only that id."""
    others = [one for one in await index.books() if one.name == book != one]
    return [book, *others]


@command()
async def books(settings: Settings, json: Json = False) -> None:
    """List the indexed books: id, title, edition, version, chunks, model, time and size."""
    async with open_index(settings) as index:
        manifests, damaged = (await index.books()).named(), await index.damaged()
    for book, damage in damaged.items():
        remark(f"{book} is damaged: {damage.reason}")
    if json:
        print_json([asdict(manifest) for manifest in manifests])
        return
    for manifest in manifests:
        print(_line(manifest))
    if not manifests and not damaged:
        remark(f"{NO_BOOKS}; {searched_place(settings)}")


def _line(manifest: BookManifest) -> str:
    edition = " ".join(filter(None, (manifest.version, manifest.locale)))
    size = f"  {manifest.size_bytes / 1e6:.1f} MB" if manifest.size_bytes else ""
    return (
        f"{manifest.book}  {manifest.title}  {edition and f'edition {edition}  '}"
        f"version {manifest.book_version}  "
        f"{manifest.chunks} chunks  {manifest.model} ({manifest.dimension})  "
        f"{manifest.created_at}{size}"
    )


@command()
async def remove(settings: Settings, book: IndexedBook, yes: Yes = False) -> int:
    """Remove a book and its editions from the index; on a terminal it asks.

    The ids of its paragraphs are kept for its next ingest.
    """
    async with open_index(settings) as index, naming_the_books(index, book):
        editions = await with_editions(index, book)
        names = ", ".join(editions)
        question = f"Remove {names} from the index? The paragraph ids are kept."
        if sys.stdin.isatty() and not yes and not typer.confirm(question, err=True):
            remark("nothing removed")
            return 1
        for one in editions:
            await index.remove(one)
            book_pages(settings).remove(one)
    print(f"removed {names}")
    return 0


@command()
async def rollback(settings: Settings, book: IndexedBook) -> None:
    """Switch readers to the book's previous generation; a second rollback switches back."""
    async with open_index(settings) as index, naming_the_books(index, book):
        manifest = await index.rollback(book)
    print(
        f"{manifest.book} is back to generation {manifest.generation}, version "
        f"{manifest.book_version} of {manifest.created_at}; the same command undoes this"
    )


@command()
async def verify(settings: Settings, books: SomeBooks = None, json: Json = False) -> int:
    """Read everything that is stored; exit code 1 if something is damaged."""
    async with verifying(settings) as use_case:
        found = [one async for one in use_case.run(books or [])]
    for one in found:
        if json:
            print_json({**asdict(one), "sound": not one.faults})
            continue
        print(f"{f'{one.book} {one.part}'.strip()}: {'damaged' if one.faults else 'sound'}")
        for line in one.faults[:_NAMED_FAULTS]:
            print(f"  {line}")
    if any(one.faults and one.part == "index" for one in found) and not json:
        remark(
            "`textbook-rag ingest BOOK_DIR` writes the index anew from the cache; `textbook-rag "
            "rollback BOOK` goes back to the previous generation"
        )
    return 1 if any(one.faults for one in found) else 0
