"""Commands that write and read backups: backup, restore."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app.bootstrap.storage import backing_up, restoring
from app.cli.output import confirmed, duration, phases, print_json, remark_each
from app.cli.printing import remark
from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.services.backup import BackedUp, Restored
from app.settings import Settings


async def backup(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write a backup; exit code 1 if damaged data was left out."""
    path: Path = arguments.file
    if path.exists() and not arguments.force:
        message = f"{path}: exists already; choose another name, or add --force"
        raise InputError(message)
    started = time.perf_counter()
    async with backing_up(settings, path) as use_case:
        with phases(quiet=arguments.quiet) as shown:
            done = await use_case.run(shown)
    if arguments.json:
        print_json(asdict(done))
    else:
        _print_backed_up(path, done, time.perf_counter() - started)
    remark_each("damaged", done.faults)
    return 1 if done.faults else 0


def _print_backed_up(path: Path, done: BackedUp, seconds: float) -> None:
    chunks = sum(one.chunks for one in done.books)
    print(
        f"{path}: {len(done.books):,} books, {chunks:,} chunks, {done.bytes / 1e6:,.1f} MB, "
        f"{duration(seconds)}"
    )
    if done.state:
        print(f"  with {', '.join(done.state)}")


async def restore(arguments: argparse.Namespace, settings: Settings) -> int:
    """Restore a backup; exit code 1 if the user declines."""
    async with restoring(settings, arguments.file) as use_case:
        books = list(dict.fromkeys(arguments.books or use_case.backup.books))
        state = () if arguments.books else use_case.backup.state
        replaced = await use_case.replaced(books)
        if replaced and not arguments.yes and not _may_replace(replaced):
            remark("nothing restored")
            return 1
        with phases(quiet=arguments.quiet) as shown:
            done = await use_case.run(books, state, shown)
    if arguments.json:
        print_json(asdict(done))
    else:
        _print_restored(done, settings)
    return 0


def _may_replace(books: Sequence[BookId]) -> bool:
    """Ask for confirmation on a terminal. InputError without a terminal."""
    names = ", ".join(books)
    if not sys.stdin.isatty():
        message = f"already in the index: {names}; add --yes to replace them from the backup"
        raise InputError(message)
    return confirmed(f"Replace {names} and their paragraph ids from the backup?")


def _print_restored(done: Restored, settings: Settings) -> None:
    for one in done.books:
        print(f"{one.book}: {one.chunks:,} chunks, generation {one.generation}")
    for name in done.state:
        print(f"{settings.home / name}: restored")
    for name in done.kept:
        remark(f"{settings.home / name}: kept; to restore the backup's copy, delete it first")
