"""The command that brings the index up to date: ingest."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from app.bootstrap import application, strategy_of
from app.cli.output import TerminalProgress, duration, print_json, remark, remark_each
from app.services.ingest import IngestReport, IngestRequest
from app.settings import Settings


def ingest_request(arguments: argparse.Namespace, settings: Settings) -> IngestRequest:
    """Read what the commands that take a book's folder have in common."""
    return IngestRequest(
        folder=arguments.path,
        book=getattr(arguments, "book", None),
        site=arguments.site,
        base_url=arguments.base_url,
        strategy=getattr(arguments, "strategy", None) or strategy_of(arguments.path, settings),
        exclude_kinds=getattr(arguments, "exclude_kinds", frozenset()),
        include_orphans=getattr(arguments, "include_orphans", False),
        skip_refused=getattr(arguments, "skip_refused", False),
        dry_run=getattr(arguments, "dry_run", False),
        force=getattr(arguments, "force", False),
    )


async def ingest(arguments: argparse.Namespace, settings: Settings) -> None:
    request = ingest_request(arguments, settings)
    async with application(settings, request.strategy) as app:
        if not arguments.quiet:
            remark(f"embedder: {app.embedder.model}, {app.embedder.dimension} dimensions")
        with TerminalProgress(quiet=arguments.quiet) as progress:
            report = await app.ingest.run(request, progress)
    if not arguments.quiet:
        remark_each("damaged, written anew", report.faults)
        remark_each("warning", report.warnings)
        remark_each("not in the table of contents, left out", report.orphans)
    if arguments.json:
        print_json(asdict(report))
    else:
        print("\n".join(_summary(report)))


def _summary(report: IngestReport) -> list[str]:
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in report.phases.items())
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
        f"  {len(report.warnings):,} warnings, {duration(report.seconds)}"
        + (f" ({phases})" if phases else ""),
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
        return "price not known: see RAG_EMBED_PRICES"
    return "under $0.0001" if 0 < usd < 0.0001 else f"${usd:.4f}"
