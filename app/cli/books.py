"""Commands on the books that are stored: books, remove, rollback, verify, backup, restore."""

import sys
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument

from app.bootstrap.backups import opened_stores, reading_backup, writing_backup
from app.bootstrap.storage import book_pages, open_index
from app.cli.command import IndexedBook, Json, SomeBooks, Yes, command, searched_place
from app.cli.output import agreed, phases, remark, remark_each, say, show
from app.domain.book_id import BookId
from app.domain.characters import counted
from app.domain.errors import NO_BOOKS, BookNotFound, InputError
from app.domain.indexed_book import BookManifest
from app.services.book_scope import indexed_books, require_indexed
from app.services.ports import BookStore
from app.settings import Settings

_NAMED_FAULTS = 5


async def with_editions(index: BookStore, book: BookId) -> list[BookId]:
    """Return the book and its other editions; for the id of an edition, only that id.

    BookNotFound names the books that there are.
    """
    known = await indexed_books(index)
    require_indexed([book], known)
    return [book, *(one for one in known if one.name == book != one)]


async def remark_unknown(settings: Settings, books: Collection[BookId]) -> None:
    """Remark on books that are not in the index: a key or a stamped page may come before them."""
    if books:
        async with open_index(settings) as index:
            known = await indexed_books(index)
        for one in {*books}.difference(known, (book.name for book in known)):
            remark(f"warning: {BookNotFound.among(one, known)}")


@command()
async def books(settings: Settings, json: Json = False) -> None:
    """List the indexed books: id, title, edition, version, chunks, model, time and size."""
    async with open_index(settings) as index:
        manifests, damaged = (await index.books()).named(), await index.damaged()
    for book, damage in damaged.items():
        remark(f"{book} is damaged: {damage.reason}")
    show([asdict(one) for one in manifests], map(_line, manifests), as_json=json)
    if not manifests and not damaged:
        remark(f"{NO_BOOKS}; {searched_place(settings)}")


def _line(manifest: BookManifest) -> str:
    edition = " ".join(filter(None, (manifest.version, manifest.locale)))
    size = f"  {manifest.size_bytes / 1e6:.1f} MB" if manifest.size_bytes else ""
    return (
        f"{manifest.book}  {manifest.title}  {edition and f'edition {edition}  '}"
        f"version {manifest.book_version}  "
        f"{counted(manifest.chunks, 'chunks')}  {manifest.model} ({manifest.dimension})  "
        f"{manifest.created_at}{size}"
    )


@command()
async def remove(settings: Settings, book: IndexedBook, yes: Yes = False) -> int:
    """Remove a book and its editions from the index; on a terminal it asks.

    The ids of its paragraphs are kept for its next ingest.
    """
    async with open_index(settings) as index:
        editions = await with_editions(index, book)
        names = ", ".join(editions)
        question = f"Remove {names} from the index? The paragraph ids are kept."
        if sys.stdin.isatty() and not agreed(question, yes=yes):
            return 1
        for one in editions:
            await index.remove(one)
            book_pages(settings).remove(one)
    say(f"removed {names}")
    return 0


@command()
async def rollback(settings: Settings, book: IndexedBook) -> None:
    """Switch readers to the book's previous generation; a second rollback switches back."""
    async with open_index(settings) as index:
        await with_editions(index, book)
        manifest = await index.rollback(book)
    say(
        f"{manifest.book} is back to generation {manifest.generation}, version "
        f"{manifest.book_version} of {manifest.created_at}; the same command undoes this"
    )


@command()
async def verify(settings: Settings, books: SomeBooks = None, json: Json = False) -> int:
    """Read everything that is stored; exit code 1 if something is damaged."""
    async with opened_stores(settings) as stores:
        found = [one async for one in stores.verify(books or [])]
    for one in found:
        state = "damaged" if one.faults else "sound"
        lines = [f"{f'{one.book} {one.part}'.strip()}: {state}"]
        lines += [f"  {fault}" for fault in one.faults[:_NAMED_FAULTS]]
        show({**asdict(one), "sound": not one.faults}, lines, as_json=json)
    if any(one.faults and one.part == "index" for one in found) and not json:
        remark(
            "`textbook-rag ingest BOOK_DIR` writes the index anew from the cache; `textbook-rag "
            "rollback BOOK` goes back to the previous generation"
        )
    return 1 if any(one.faults for one in found) else 0


@command()
async def backup(
    settings: Settings,
    file: Annotated[Path, Argument(metavar="FILE", help="The backup; it appears when complete.")],
) -> int:
    """Write all books and local state into a new file; exit code 1 if damage was left out."""
    if file.exists():
        raise InputError(f"{file}: exists already; choose another name, or delete it first")
    with writing_backup(file) as backup:
        async with opened_stores(settings) as stores:
            faults = await stores.back_up(backup, phases())
    chunks, size = sum(one.chunks for one in backup.books), file.stat().st_size
    books = f"{counted(len(backup.books), 'books')}, {counted(chunks, 'chunks')}"
    say(f"{file}: {books}, {size / 1e6:,.1f} MB")
    if backup.state:
        say(f"  with {', '.join(backup.state)}")
    remark_each("damaged", faults)
    return 1 if faults else 0


@command()
async def restore(
    settings: Settings,
    file: Annotated[
        Path,
        Argument(metavar="FILE", exists=True, dir_okay=False, help="A file written by `backup`."),
    ],
    books: SomeBooks = None,
    yes: Yes = False,
) -> int:
    """Restore books, and local state that is missing if none is named; it asks to replace a book.

    Without a terminal it needs --yes to replace one. Exit code 1 if you decline.
    """
    with reading_backup(file) as backup:
        async with opened_stores(settings) as stores:
            chosen = list(dict.fromkeys(books or backup.books))
            replaced = await stores.replaced(backup, chosen)
            question = f"Replace {', '.join(replaced)} and their paragraph ids from the backup?"
            if replaced and not agreed(question, yes=yes):
                return 1
            async for one in stores.restore(backup, chosen, phases()):
                say(f"{one.book}: {counted(one.chunks, 'chunks')}, generation {one.generation}")
            if not books:
                restored = stores.restore_state(backup)
                for path in (settings.home / name for name in backup.state):
                    if path.name in restored:
                        say(f"{path}: restored")
                    else:
                        remark(f"{path}: kept; to restore the backup's copy, delete it")
    return 0
