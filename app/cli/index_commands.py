"""Commands that keep the books in the index: books, remove, rollback, migrate."""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

from app.bootstrap import index_only, migration, verifying
from app.cli.output import TerminalProgress, print_json, remark
from app.domain.errors import BookNotFound
from app.services.phases import Phases
from app.services.ports import VectorIndex
from app.settings import Settings

_NAMED_FAULTS = 5


@asynccontextmanager
async def naming_the_books(index: VectorIndex) -> AsyncIterator[None]:
    """Let a BookNotFound of this block say which books there are."""
    try:
        yield
    except BookNotFound as error:
        known = ", ".join(manifest.book for manifest in await index.books())
        message = f"{error}; there are: {known or 'none'}"
        raise BookNotFound(message) from error


async def listing(arguments: argparse.Namespace, settings: Settings) -> None:
    async with index_only(settings) as index:
        manifests, damaged = await index.books(), await index.damaged()
    for book, damage in damaged.items():
        remark(f"{book} is damaged: {damage.reason}")
    for manifest in manifests:
        if arguments.json:
            print_json(asdict(manifest))
        else:
            print(
                f"{manifest.book}  {manifest.title}  version {manifest.book_version}  "
                f"{manifest.chunks} chunks  {manifest.model} ({manifest.dimension})  "
                f"{manifest.created_at}  {manifest.size_bytes / 1e6:.1f} MB"
            )
    if not manifests and not damaged:
        remark("no books yet: textbook-rag ingest BOOK_DIR")


async def remove(arguments: argparse.Namespace, settings: Settings) -> None:
    async with index_only(settings) as index, naming_the_books(index):
        await index.remove(arguments.book)
    if arguments.json:
        print_json({"removed": arguments.book})
    else:
        print(f"removed {arguments.book}")


async def rollback(arguments: argparse.Namespace, settings: Settings) -> None:
    """Switch readers to the generation before; once more switches forth again."""
    async with index_only(settings) as index, naming_the_books(index):
        manifest = await index.rollback(arguments.book)
    if arguments.json:
        print_json(asdict(manifest))
    else:
        print(
            f"{manifest.book} is back at generation {manifest.generation}, version "
            f"{manifest.book_version} of {manifest.created_at}; the same command undoes this"
        )


async def verify(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check everything stored; exit code 1 while something is damaged."""
    async with verifying(settings) as use_case:
        found = await use_case.run(arguments.books, repair=arguments.repair)
    for one in found:
        if arguments.json:
            print_json({**asdict(one), "sound": one.sound})
            continue
        name = f"{one.book} {one.part}".strip()
        print(f"{name}: {'damaged' if one.faults else 'sound'}")
        for line in (*one.faults[:_NAMED_FAULTS], *([one.repaired] if one.repaired else [])):
            print(f"  {line}")
    damaged = [one for one in found if not one.sound]
    if any(one.part == "index" for one in damaged) and not arguments.json:
        remark(
            "`textbook-rag verify --repair` goes back to the generation before; `textbook-rag "
            "ingest BOOK_DIR --force` writes the index anew from the cache"
        )
    return 1 if damaged else 0


async def migrate(arguments: argparse.Namespace, settings: Settings) -> None:
    """Copy the embedded index to the server that QDRANT_URL names."""
    async with migration(settings) as use_case:
        with TerminalProgress(quiet=arguments.quiet) as progress:
            done = await use_case.run(arguments.books, Phases(progress, time.perf_counter))
    for one in done:
        if arguments.json:
            print_json(asdict(one))
        else:
            verb = "copied and verified" if one.copied else "was there already, verified"
            print(f"{one.book}: {one.chunks:,} chunks {verb}, generation {one.generation}")
    if not done:
        remark("no books yet: textbook-rag ingest BOOK_DIR")
