"""The command that compares chunking strategies."""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from app.bootstrap.application import application
from app.bootstrap.books import chunk_report, read_source
from app.bootstrap.evaluation import bar_charts, read_questions, require_plots
from app.cli.output import markdown_table, phases, require_writable, write_text
from app.cli.printing import remark
from app.cli.reading_commands import ingest_request
from app.domain.chunking.config import StrategyName, strategy_name
from app.services.compare import CompareStrategies, StrategyResult
from app.services.evaluate import Evaluate
from app.services.ingest import IngestBook
from app.settings import Settings

_COLUMNS = {
    "chunks": "chunks",
    "mean_tokens": "mean tokens",
    "duplicates": "duplicates",
    "broken_blocks": "broken blocks",
    "cut_sentences": "cut sentences",
    "recall": "recall@5",
    "ndcg": "nDCG@10",
    "precision": "precision",
    "iou": "IoU",
    "relative_time": "time / fixed",
}


async def compare(arguments: argparse.Namespace, settings: Settings) -> None:
    for name in arguments.strategies:
        strategy_name(name)
    for path in (arguments.output, arguments.svg):
        require_writable(path)
    if arguments.svg is not None:
        require_plots()
    questions = read_questions(arguments.questions)
    # One embedder for all strategies, so that the comparison is of strategies alone.
    embedded_for = StrategyName.LATE if StrategyName.LATE in arguments.strategies else ""
    request = await ingest_request(arguments, settings)

    @asynccontextmanager
    async def workbench() -> AsyncIterator[tuple[IngestBook, Evaluate]]:
        with TemporaryDirectory() as home:
            temporary = settings.model_copy(update={"home": Path(home)})
            async with application(temporary, embedded_for) as app:
                yield app.ingest, app.evaluate

    async with application(settings, embedded_for) as app:
        remark(f"embedder: {app.embedder.model}; {len(questions)} questions")
        use_case = CompareStrategies(read_source, app.ingest.chunk_book, chunk_report, workbench)
        with phases() as shown:
            rows = await use_case.run(request, questions, arguments.strategies, shown)
    _write_rows(arguments, rows)


def _write_rows(arguments: argparse.Namespace, rows: list[StrategyResult]) -> None:
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        cells = [[row.strategy, *(_cell(getattr(row, name)) for name in _COLUMNS)] for row in rows]
        print(markdown_table(["strategy", *_COLUMNS.values()], cells))
    if arguments.output is not None:
        write_text(arguments.output, json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    if arguments.svg is not None:
        _draw(arguments, rows)


def _draw(arguments: argparse.Namespace, rows: list[StrategyResult]) -> None:
    measures = {
        label: [float(getattr(row, name)) for row in rows] for name, label in _COLUMNS.items()
    }
    title = f"{arguments.path.name}: {arguments.questions.parent.name}"
    bar_charts(arguments.svg, title, [row.strategy for row in rows], measures)


def _cell(value: float) -> str:
    """Format a number with about three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{3 if value < 1 else 2 if value < 10 else 0}f}"
