"""The command `ingest`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Annotated

from typer import Option

from app.bootstrap.books import how_read, import_ledger, opened_source, requests_by_edition
from app.bootstrap.storage import require_home
from app.cli.command import Json, OneBook, Site, Source, Strategy, command, open_application
from app.cli.output import duration, errors_as_json, phases, remark, remark_each, show
from app.domain.book_id import BookId
from app.domain.characters import counted
from app.domain.document import BlockKind
from app.domain.edition import ONLY, Edition
from app.domain.errors import InputError
from app.domain.urls import checked_base_url
from app.services.ingest_plan import IngestReport, IngestRequest
from app.services.ports import BookStore
from app.settings import Settings


def kinds(text: str) -> frozenset[BlockKind]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    try:
        # Short names of the specification are accepted too.
        return frozenset(
            BlockKind.GLOSSARY_ENTRY if name == "glossary" else BlockKind(name) for name in names
        )
    except ValueError:
        raise InputError(f"unknown kind in {text!r}; kinds are {', '.join(BlockKind)}") from None


@command()
async def ingest(
    settings: Settings,
    source: Source,
    book: OneBook = None,
    site: Site = None,
    base_url: Annotated[
        str, Option(parser=checked_base_url, metavar="URL", help="Where the site is served.")
    ] = "",
    strategy: Strategy = None,
    exclude_kinds: Annotated[
        frozenset[BlockKind] | None,
        Option(parser=kinds, metavar="KIND,...", help="Leave out these blocks, such as exercise."),
    ] = None,
    allow_private: Annotated[
        bool, Option("--allow-private", help="Fetch from this machine or a private network.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Print changes and their cost.")] = False,
    json: Json = False,
) -> None:
    """Bring the index up to date with a book's folder of pages, or with a site.

    Without --book the folder's name is the book's. --book ID@VERSION ingests the folder as this
    version, served at <base URL>/VERSION (mike). PATH may be a zip archive of a folder.
    With --book, a book without a ledger gets the one at the top of the folder: the output of
    `links BOOK --ledger` in textbook-rag-ledger.jsonl.

    With --json, where stderr is no terminal, progress and a final error are JSON lines on stderr.
    """
    with errors_as_json() if json else nullcontext():
        if not dry_run:
            require_home(settings)
        told = phases(as_json=json)
        async with opened_source(
            source, settings, told, remark, allow_private=allow_private
        ) as given:
            request = replace(
                given,
                book=book.name if book else given.book,
                site=site,
                base_url=base_url or given.base_url,
                strategy=strategy or given.strategy,
                exclude_kinds=exclude_kinds or frozenset(),
                edition=Edition.named(book.version, book.locale) if book else ONLY,
                dry_run=dry_run,
            )
            if book and not dry_run:
                await import_ledger(settings, book, request.folder)
            reports = await _ingest(settings, request, as_json=json)
    found = [asdict(one) for one in reports]
    lines = (line for one in reports for line in _summary(one))
    show(found[0] | ({"editions": found} if found[1:] else {}), lines, as_json=json)


async def _ingest(
    settings: Settings, request: IngestRequest, *, as_json: bool
) -> list[IngestReport]:
    """Ingest all editions of the folder, or the one that is asked for; the default one first."""
    requests = requests_by_edition(request)
    reports = []
    async with open_application(settings) as app:
        if request.folder.is_dir():
            remark(how_read(request))
        remark(f"embedder: {app.embedder.space}, {app.embedder.dimension} dimensions")
        for one in requests:
            reports.append(await app.ingest.run(one, phases(as_json=as_json)))
            remark_each("damaged, written anew", reports[-1].faults)
            remark_each("warning", reports[-1].warnings)
        if not request.dry_run and request.edition == ONLY:
            await _remove_other_editions(app.index, [one.book for one in reports])
    return reports


async def _remove_other_editions(index: BookStore, kept: Sequence[BookId]) -> None:
    """Remove the editions of the book that the ingested folder no longer has.

    A folder with one edition removes nothing. With one version in several locales, editions of
    other versions stay, because each version is then ingested from its own folder.
    """
    versions = {book.version for book in kept}
    for book in await index.books() if len(kept) > 1 else ():
        gone = book.name == kept[0] and book not in kept
        if gone and (len(versions) > 1 or book.version in versions):
            await index.remove(book)
            remark(f"removed {book}: the site no longer has this edition")


def _summary(report: IngestReport) -> Iterator[str]:
    size = f"{counted(report.files, 'files')}, {counted(report.chunks, 'chunks')}"
    yield f"{report.book}, version {report.book_version}: {size}"
    yield f"  blocks    {_counts(report.blocks)}"
    if report.excluded:
        yield f"  left out  {_counts(report.excluded)} as asked"
    if report.unchanged:
        yield "  unchanged: nothing embedded, nothing written"
    else:
        yield from _work(report)
    yield f"  warnings  {len(report.warnings):,}; {duration(report.seconds)}"


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in numbers.items())


def _work(report: IngestReport) -> Iterator[str]:
    verb = "to be " if report.dry_run else ""
    changed = f"{report.changed:,} changed, {report.removed:,} removed"
    yield f"  chunks    {report.added:,} {verb}added, {changed}"
    reused = report.chunks - report.embedded
    yield f"  vectors   {report.embedded:,} {verb}embedded, {reused:,} reused"
    if report.embedded:
        yield f"  cost      {_cost(report)}"
    if not report.dry_run:
        yield f"  published as generation {report.generation}"


def _cost(report: IngestReport) -> str:
    """Return tokens, those that the provider billed if it says so, time and price."""
    billed = report.billed_tokens
    tokens = counted(billed or report.tokens, "tokens") + (" billed" if billed else "")
    limit = f", {duration(60 * report.minutes)} at the rate limit" if report.minutes else ""
    price = "price unknown: set RAG_PRICES" if report.usd is None else f"${report.usd:.4f}"
    return f"{tokens}, {counted(report.batches, 'batches')}{limit}, {price}"
