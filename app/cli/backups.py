"""Commands that write and read backups: backup, restore."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from app.bootstrap.backups import backing_up, restoring
from app.cli.options import SomeBooks, Yes
from app.cli.output import duration, remark, remark_each
from app.cli.progress import phases
from app.cli.running import command
from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.settings import Settings


@command()
async def backup(
    settings: Settings,
    file: Annotated[Path, Argument(metavar="FILE", help="The backup; it appears when complete.")],
) -> int:
    """Write all books and local state into a new file; exit code 1 if damage was left out."""
    if file.exists():
        message = f"{file}: exists already; choose another name, or delete it first"
        raise InputError(message)
    started = time.perf_counter()
    async with backing_up(settings, file) as (backup, stores):
        faults = await stores.back_up(backup, phases())
    chunks, size = sum(one.chunks for one in backup.books), file.stat().st_size
    took = duration(time.perf_counter() - started)
    print(f"{file}: {len(backup.books):,} books, {chunks:,} chunks, {size / 1e6:,.1f} MB, {took}")
    if backup.state:
        print(f"  with {', '.join(backup.state)}")
    remark_each("damaged", faults)
    return 1 if faults else 0


@command()
async def restore(
    settings: Settings,
    file: Annotated[Path, Argument(metavar="FILE", help="A file written by `backup`.")],
    books: SomeBooks = None,
    yes: Yes = False,
) -> int:
    """Restore books, and local state that is missing if none is named; it asks to replace a book.

    Without a terminal it needs --yes to replace one. Exit code 1 if you decline.
    """
    async with restoring(settings, file) as (backup, stores):
        chosen = list(dict.fromkeys(books or backup.books))
        replaced = await stores.replaced(backup, chosen)
        if replaced and not yes and not _may_replace(replaced):
            remark("nothing restored")
            return 1
        for one in await stores.restore(backup, chosen, phases()):
            print(f"{one.book}: {one.chunks:,} chunks, generation {one.generation}")
        if not books:
            restored = stores.restore_state(backup)
            for name in backup.state:
                path = settings.home / name
                if name in restored:
                    print(f"{path}: restored")
                else:
                    remark(f"{path}: kept; to restore the backup's copy, delete it first")
    return 0


def _may_replace(books: Sequence[BookId]) -> bool:
    """Ask for confirmation on a terminal. InputError without a terminal."""
    names = ", ".join(books)
    if not sys.stdin.isatty():
        message = f"already in the index: {names}; add --yes to replace them from the backup"
        raise InputError(message)
    return typer.confirm(f"Replace {names} and their paragraph ids from the backup?", err=True)
