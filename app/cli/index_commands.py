"""Commands on the index: ingest, books, remove, rollback, verify, llms, ledger."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import asdict
from functools import partial

from app.bootstrap.application import application
from app.bootstrap.book_pages import book_pages
from app.bootstrap.books import requests_by_edition, site_remarks
from app.bootstrap.storage import ledger_store, open_index
from app.bootstrap.verification import verifying
from app.cli.output import (
    JsonProgress,
    confirmed,
    duration,
    errors_as_json,
    phases,
    print_json,
    remark_each,
    write_text,
)
from app.cli.printing import remark, searched_place
from app.cli.reading_commands import ingest_request
from app.domain.book_id import BookId
from app.domain.edition import ONLY
from app.domain.errors import NO_BOOKS, BookNotFound, InputError
from app.domain.ledger import from_lines, to_lines
from app.services.book_text import DescribeBook
from app.services.ingest import IngestReport
from app.services.phases import Phases
from app.services.ports import BookCatalogue, BookStore
from app.services.safe_paths import read_text
from app.services.verify import Verified
from app.settings import Settings

_NAMED_FAULTS = 5


async def ingest(arguments: argparse.Namespace, settings: Settings) -> None:
    """Ingest a book. With `--json` on no terminal, progress and errors are JSON on stderr."""
    if not arguments.json or arguments.quiet or sys.stderr.isatty():
        await _ingest(arguments, settings, partial(phases, quiet=arguments.quiet))
    else:
        with errors_as_json():
            await _ingest(arguments, settings, lambda: nullcontext(Phases(JsonProgress())))


async def _ingest(
    arguments: argparse.Namespace,
    settings: Settings,
    progress: Callable[[], AbstractContextManager[Phases]],
) -> None:
    request = await ingest_request(arguments, settings)
    requests = requests_by_edition(request)
    async with application(settings, requests[0].strategy) as app:
        if not arguments.quiet:
            for line in site_remarks(request):
                remark(line)
            remark(f"embedder: {app.embedder.model}, {app.embedder.dimension} dimensions")
        reports: list[IngestReport] = []
        for request in requests:
            with progress() as shown:
                reports.append(await app.ingest.run(request, shown))
            _print_report(reports[-1], arguments)
        if arguments.json:
            print_json(_as_object([asdict(one) for one in reports]))
        if not arguments.dry_run and arguments.edition == ONLY:
            await _remove_other_editions(app.index, [BookId(one.book) for one in reports])


async def _remove_other_editions(index: BookStore, kept: Sequence[BookId]) -> None:
    """Remove the editions of the book that the ingested folder no longer has.

    A folder with one edition removes nothing. With one version in several locales, editions of
    other versions stay, because each version is then ingested from its own folder.
    """
    versions = {book.version for book in kept}
    if len(kept) > 1:
        for book in await index.books():
            gone = book.name == kept[0] and book not in kept
            if gone and (len(versions) > 1 or book.version in versions):
                await index.remove(book)
                remark(f"removed {book}: the site no longer has this edition")


def _print_report(report: IngestReport, arguments: argparse.Namespace) -> None:
    if not arguments.quiet:
        remark_each("damaged, written anew", report.faults)
        remark_each("warning", report.warnings)
        remark_each("not in the table of contents, left out", report.orphans)
    if not arguments.json:
        print("\n".join(_summary(report)))


def _as_object(reports: list[dict[str, object]]) -> dict[str, object]:
    """Return the report of the default edition; of several, all are its `editions`."""
    return reports[0] | ({"editions": reports} if reports[1:] else {})


def _summary(report: IngestReport) -> list[str]:
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in report.phases.items())
    warnings = "1 warning" if len(report.warnings) == 1 else f"{len(report.warnings):,} warnings"
    size = f"{report.files:,} files, {report.chunks:,} chunks"
    return [
        f"{report.book}, version {report.book_version}: {size}",
        "  blocks    " + ", ".join(f"{count:,} {kind}" for kind, count in report.blocks.items()),
        *_left_out(report),
        *(
            ["  unchanged: nothing embedded, nothing written"]
            if report.unchanged
            else _work(report)
        ),
        f"  {warnings}, {duration(report.seconds)}" + (f" ({phases})" if phases else ""),
    ]


def _left_out(report: IngestReport) -> list[str]:
    reasons = [f"{count:,} {kind} as asked" for kind, count in report.excluded.items()]
    if report.orphans:
        reasons.append(f"{len(report.orphans):,} files outside the table of contents")
    return [f"  left out  {', '.join(reasons)}"] if reasons else []


def _work(report: IngestReport) -> list[str]:
    verb = "would be" if report.dry_run else "were"
    changed = f"{report.changed:,} changed, {report.removed:,} removed"
    lines = [
        f"  chunks    {report.added:,} {verb} added, {changed}",
        f"  vectors   {report.embedded:,} {verb} embedded, {report.reused:,} reused",
    ]
    if report.embedded:
        lines.append(f"  cost      {_cost(report)}")
    if not report.dry_run:
        lines.append(f"  published as generation {report.generation}")
    return lines


def _cost(report: IngestReport) -> str:
    if report.billed_tokens:
        tokens = f"{report.billed_tokens:,} tokens billed ({report.tokens:,} by our count)"
    else:
        tokens = f"{report.tokens:,} tokens"
    calls = "1 batch" if report.batches == 1 else f"{report.batches:,} batches"
    limit = f"{duration(60 * report.minutes)} at the rate limit"
    return ", ".join([tokens, calls, *([limit] if report.minutes else []), _price(report.usd)])


def _price(usd: float | None) -> str:
    if usd is None:
        return "price unknown: set RAG_PRICES"
    return "under $0.0001" if 0 < usd < 0.0001 else f"${usd:.4f}"


@asynccontextmanager
async def naming_the_books(index: BookCatalogue, book: BookId) -> AsyncIterator[None]:
    """Add the ids of the indexed books to the message of a BookNotFound from this block."""
    try:
        yield
    except BookNotFound as error:
        raise BookNotFound.among(book, [*await index.books()]) from error


async def listing(arguments: argparse.Namespace, settings: Settings) -> None:
    async with open_index(settings) as index:
        manifests, damaged = (await index.books()).named(), await index.damaged()
    for book, damage in damaged.items():
        remark(f"{book} is damaged: {damage.reason}")
    if arguments.json:
        print_json([asdict(manifest) for manifest in manifests])
        return
    for manifest in manifests:
        edition = " ".join(filter(None, (manifest.version, manifest.locale)))
        size = f"  {manifest.size_bytes / 1e6:.1f} MB" if manifest.size_bytes else ""
        print(
            f"{manifest.book}  {manifest.title}  {edition and f'edition {edition}  '}"
            f"version {manifest.book_version}  "
            f"{manifest.chunks} chunks  {manifest.model} ({manifest.dimension})  "
            f"{manifest.created_at}{size}"
        )
    if not manifests and not damaged:
        remark(f"{NO_BOOKS}; {searched_place(settings)}")


async def with_editions(index: BookCatalogue, book: BookId) -> list[BookId]:
    """Return the book and its other editions; for the id of an edition, only that id."""
    others = [one for one in await index.books() if one.name == book != one]
    return [book, *others]


async def remove(arguments: argparse.Namespace, settings: Settings) -> int:
    question = f"Remove {arguments.book} from the index? Its paragraph ids are kept."
    if sys.stdin.isatty() and not arguments.yes and not confirmed(question):
        remark("nothing removed")
        return 1
    async with open_index(settings) as index, naming_the_books(index, arguments.book):
        for book in await with_editions(index, arguments.book):
            await index.remove(book)
            book_pages(settings).remove(book)
    if arguments.json:
        print_json({"removed": arguments.book})
    else:
        print(f"removed {arguments.book}")
    return 0


async def rollback(arguments: argparse.Namespace, settings: Settings) -> None:
    """Switch readers to the previous generation; a second rollback switches back."""
    async with open_index(settings) as index, naming_the_books(index, arguments.book):
        manifest = await index.rollback(arguments.book)
    if arguments.json:
        print_json(asdict(manifest))
    else:
        print(
            f"{manifest.book} is back to generation {manifest.generation}, version "
            f"{manifest.book_version} of {manifest.created_at}; the same command undoes this"
        )


async def verify(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check everything stored; exit code 1 if something is damaged."""
    async with verifying(settings) as use_case:
        found = await use_case.run(arguments.books, repair=arguments.repair, full=arguments.full)
    for one in found:
        if arguments.json:
            print_json({**asdict(one), "sound": one.sound})
        else:
            _print_verified(one)
    damaged = [one for one in found if not one.sound]
    if any(one.part == "index" for one in damaged) and not arguments.json:
        remark(
            "`textbook-rag ingest BOOK_DIR` writes the index anew from the cache; `textbook-rag "
            "verify --repair` goes back to the previous generation"
        )
    return 1 if damaged else 0


def _print_verified(one: Verified) -> None:
    name = f"{one.book} {one.part}".strip()
    print(f"{name}: {'damaged' if one.faults else 'sound'}")
    for line in (*one.faults[:_NAMED_FAULTS], one.repaired):
        if line:
            print(f"  {line}")


async def export_ledger(arguments: argparse.Namespace, settings: Settings) -> None:
    """Write the ledger to stdout as JSON lines, or to a file."""
    ledger = await ledger_store(settings).load(arguments.book)
    if not ledger.entries:
        message = f"no ledger for book {arguments.book!r} in {settings.home}: ingest the book first"
        raise InputError(message)
    text = "".join(f"{line}\n" for line in to_lines(ledger))
    if arguments.file is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.file, text)
        remark(f"{len(ledger.entries)} paragraph ids written to {arguments.file}")


async def import_ledger(arguments: argparse.Namespace, settings: Settings) -> None:
    """Replace the book's ledger; the next ingest continues from it."""
    ledger = from_lines(read_text(arguments.file).split("\n"), str(arguments.file))
    if not ledger.entries:
        message = f"{arguments.file}: no paragraph ids; give a file of `textbook-rag ledger export`"
        raise InputError(message)
    await ledger_store(settings).save(arguments.book, ledger)
    remark(f"{len(ledger.entries)} paragraph ids of {arguments.book} imported")


async def llms(arguments: argparse.Namespace, settings: Settings) -> None:
    async with open_index(settings) as index, naming_the_books(index, arguments.book):
        describe = DescribeBook(index)
        text = describe.full_text if arguments.full else describe.short_text
        sys.stdout.write(await text(arguments.book))
