"""Commands that write and read backups: backup, restore."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from app.bootstrap.storage import backing_up, backup_reader, backup_writer, restoring
from app.cli.output import confirmed, duration, phases, print_json, remark_each
from app.cli.printing import remark
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, InputError
from app.services.backup import BackedUp, BackedUpBook, Restored, RestorePlan
from app.settings import Settings


async def backup(arguments: argparse.Namespace, settings: Settings) -> int:
    """Write a backup; exit code 1 if damaged data was left out."""
    path: Path = arguments.file
    if path.exists() and not arguments.force:
        message = f"{path}: exists already; choose another name, or add --force"
        raise InputError(message)
    started = time.perf_counter()
    writer = backup_writer(path)
    try:
        async with backing_up(settings) as use_case:
            with phases(quiet=arguments.quiet) as shown:
                done = await use_case.run(writer, writer.scratch, shown)
    finally:
        writer.discard()
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
    size = _size(arguments.file)
    with phases(quiet=arguments.quiet) as shown, shown.phase("check", size, "bytes") as advance:
        reader = backup_reader(arguments.file, advance)
    try:
        chosen = _chosen(reader.contents.books, arguments.books, arguments.file)
        state = () if arguments.books else reader.contents.state
        async with restoring(settings) as use_case:
            plan = await use_case.plan(chosen)
            if plan.replaced and not arguments.yes and not _may_replace(plan):
                remark("nothing restored")
                return 1
            with phases(quiet=arguments.quiet) as shown:
                done = await use_case.run(reader, plan, state, shown)
    finally:
        reader.close()
    if arguments.json:
        print_json(asdict(done))
    else:
        _print_restored(done, settings)
    return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # `open` reports the error


def _chosen(
    books: Sequence[BackedUpBook], names: Sequence[BookId], path: Path
) -> list[BackedUpBook]:
    """Return the named books of the backup, or all. BookNotFound if one is missing."""
    known = {one.manifest.book: one for one in books}
    for name in names:
        if name not in known:
            message = f"no book {name!r} in {path}; there are: {', '.join(known) or 'none'}"
            raise BookNotFound(message)
    return [known[name] for name in dict.fromkeys(names or known)]


def _may_replace(plan: RestorePlan) -> bool:
    """Ask for confirmation on a terminal. InputError without a terminal."""
    names = ", ".join(one.manifest.book for one in plan.replaced)
    if not sys.stdin.isatty():
        message = f"already in the index: {names}; add --yes to replace them from the backup"
        raise InputError(message)
    return confirmed(f"Replace {names} and their paragraph ids from the backup?")


def _print_restored(done: Restored, settings: Settings) -> None:
    for one in done.books:
        print(f"{one.book}: {one.chunks:,} chunks, generation {one.generation}")
    for book in done.same:
        print(f"{book}: was there already")
    for name in done.state:
        print(f"{settings.home / name}: restored")
    for name in done.kept:
        remark(f"{settings.home / name}: kept; to restore the backup's copy, delete it first")
