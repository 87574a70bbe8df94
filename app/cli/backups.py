"""Commands that write and read backups: backup, restore."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from typer import Argument

from app.bootstrap.backups import backing_up, restoring
from app.cli.options import SomeBooks, Yes
from app.cli.output import agreed, duration, remark, remark_each, say
from app.cli.progress import phases
from app.cli.running import command
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
    say(f"{file}: {len(backup.books):,} books, {chunks:,} chunks, {size / 1e6:,.1f} MB, {took}")
    if backup.state:
        say(f"  with {', '.join(backup.state)}")
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
        question = f"Replace {', '.join(replaced)} and their paragraph ids from the backup?"
        if replaced and not agreed(question, yes=yes):
            return 1
        for one in await stores.restore(backup, chosen, phases()):
            say(f"{one.book}: {one.chunks:,} chunks, generation {one.generation}")
        if not books:
            restored = stores.restore_state(backup)
            for name in restored:
                say(f"{settings.home / name}: restored")
            for name in backup.state:
                if name not in restored:
                    remark(f"{settings.home / name}: kept; to restore the backup's copy, delete it")
    return 0
