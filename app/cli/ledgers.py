"""Commands about paragraph ids: ledger export, ledger import."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from app.adapters.sqlite.ledgers import SqliteLedgers, from_lines, to_lines
from app.cli.output import remark, write_text
from app.domain.errors import InputError
from app.settings import Settings


async def export(arguments: argparse.Namespace, settings: Settings) -> None:
    """Write the ledger to stdout as JSON lines, or to a file."""
    ledger = await SqliteLedgers(settings.home / "ledger").load(arguments.book)
    if not ledger.entries:
        message = f"no ledger for book {arguments.book!r} in {settings.home}: ingest it first"
        raise InputError(message)
    text = "".join(f"{line}\n" for line in to_lines(ledger))
    if arguments.file is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.file, text)
        remark(f"{len(ledger.entries)} paragraph ids written to {arguments.file}")


async def load(arguments: argparse.Namespace, settings: Settings) -> None:
    """Take the place of the book's ledger; the next ingest goes on from it."""
    ledger = from_lines(_read(arguments.file).splitlines(), str(arguments.file))
    await SqliteLedgers(settings.home / "ledger").save(arguments.book, ledger)
    remark(f"{len(ledger.entries)} paragraph ids of {arguments.book} imported")


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read ({error})"
        raise InputError(message) from error
