"""Unpacks archives of books, and imports the ledgers that authors keep with their books."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.archives import unpack
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.ledger import from_lines
from app.services.safe_paths import read_text
from app.settings import Settings

MAX_UNPACKED_BYTES = 2**30
"""Four times the largest archive. Pages and pictures of a book are far smaller; a bomb is not."""
LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of a book's folder; imported if the book has no ledger yet."""


@contextmanager
def unpacked(source: str, name: str) -> Iterator[str]:
    """Unpack a zip archive into a temporary folder, called `name`; other sources stay as they are.

    InputError if the archive is refused.
    """
    if "://" in source or not source.endswith(".zip"):
        yield source
        return
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / name
        folder.mkdir()
        yield str(unpack(Path(source), folder, MAX_UNPACKED_BYTES))


async def import_ledger(settings: Settings, book: BookId, exported: Path) -> None:
    """Give a book without a ledger an exported one. InputError if the file has no ids."""
    ledgers = SqliteLedgers(settings.home / "ledger")
    if not (await ledgers.load(book)).entries:
        ledger = from_lines(read_text(exported).split("\n"), exported.name)
        if not ledger.entries:
            message = f"{exported.name}: no paragraph ids; write it by `links BOOK --as ledger`"
            raise InputError(message)
        await ledgers.save(book, ledger)
