"""Unpacks an uploaded book in a separate process, whose memory a hostile archive may exhaust.

    python -m app.bootstrap.uploads ARCHIVE FOLDER BOOK

FOLDER is made. Prints a JSON object: the book's `folder`, or an `error` with its `message`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from app.adapters.archives import unpack
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.errors import NO_MEMORY, InputError, RagError, StorageError
from app.domain.ledger import from_lines
from app.services.safe_paths import read_text
from app.settings import Settings, read_settings

MAX_UNPACKED_BYTES = 2**30
"""Four times the largest archive. Pages and pictures of a book are far smaller; a bomb is not."""
LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of an archive; imported if the book has no ledger yet."""


def _received(archive: str, made: str, book: str) -> Path:
    settings, folder = read_settings(), Path(made)
    folder.mkdir()
    unpacked = unpack(Path(archive), folder, MAX_UNPACKED_BYTES)
    if (unpacked / LEDGER_FILE).is_file():
        asyncio.run(import_ledger(settings, BookId(book), unpacked / LEDGER_FILE))
    return unpacked


async def import_ledger(settings: Settings, book: BookId, exported: Path) -> None:
    """Give a book without a ledger an exported one. InputError if the file has no ids."""
    ledgers = SqliteLedgers(settings.home / "ledger")
    if not (await ledgers.load(book)).entries:
        ledger = from_lines(read_text(exported).split("\n"), exported.name)
        if not ledger.entries:
            message = f"{exported.name}: no paragraph ids; write it by `links BOOK --as ledger`"
            raise InputError(message)
        await ledgers.save(book, ledger)


def main() -> None:
    """Entry point of the process."""
    try:
        said = {"folder": str(_received(*sys.argv[1:]))}
    except RagError as error:
        said = {"error": error.code, "message": str(error)}
    except MemoryError:
        said = {"error": StorageError.code, "message": NO_MEMORY}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
