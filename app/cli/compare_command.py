"""The command that compares chunking strategies on a book.

`seconds` is the CPU time of chunking, with the embedding that `semantic` needs. `broken_blocks` are
code, tables, lists, maths and glossary entries up to 700 tokens that no chunk has whole,
`cut_sentences` the chunk boundaries inside a sentence, `duplicates` the share of chunks with the
text of an earlier one.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeAlias

from app.bootstrap.application import application
from app.bootstrap.books import chunk_report, read_source
from app.bootstrap.evaluation import read_questions
from app.cli.output import figure, markdown_table, phases, print_json
from app.cli.reading_commands import ingest_request
from app.domain.chunking.config import StrategyName, strategy_name
from app.domain.document import Book
from app.domain.evaluation.gold_question import Question
from app.services.evaluate import EvaluationRequest
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases, ignore
from app.settings import Settings

Row: TypeAlias = dict[str, str | float]
"""One strategy: its report and its scores, by the names of the columns."""


async def compare(arguments: argparse.Namespace, settings: Settings) -> None:
    for name in arguments.strategies:
        strategy_name(name)
    questions = read_questions(arguments.questions)
    request = await ingest_request(arguments, settings)
    book = read_source(request)
    # One embedder for all strategies, so that the comparison is of strategies alone.
    embedded_for = StrategyName.LATE if StrategyName.LATE in arguments.strategies else ""
    requests = [replace(request, strategy=one, book=book.id) for one in arguments.strategies]
    with phases() as shown:
        rows = [await _row(book, one, questions, settings, embedded_for, shown) for one in requests]
    found = _with_relative_times(rows)
    if arguments.json:
        print_json(found)
    else:
        print(_table(found))


async def _row(
    book: Book,
    request: IngestRequest,
    questions: Sequence[Question],
    settings: Settings,
    embedded_for: str,
    phases: Phases,
) -> Row:
    """Ingest the book by one strategy into a temporary index, and search it."""
    with TemporaryDirectory() as home:
        temporary = settings.model_copy(update={"home": Path(home)})
        async with application(temporary, embedded_for) as app:
            ingest, started = app.ingest, process_time()
            chunks = await asyncio.to_thread(lambda: [*ingest.chunk_book(book, request, ignore)])
            seconds = process_time() - started
            known = replace(ingest, read_book=lambda *_: book, chunk_book=lambda *_: chunks)
            await known.run(request, phases)
            asked = EvaluationRequest(book=book.id)
            with phases.phase(request.strategy, len(questions), "questions") as advance:
                scores = (await app.evaluate.run(questions, asked, advance)).summary()
    report = chunk_report(book, chunks, request)
    return {
        "strategy": request.strategy,
        "chunks": report.chunks,
        "mean_tokens": report.mean_tokens,
        "duplicates": report.duplicates / report.chunks if report.chunks else 0.0,
        "broken_blocks": len(report.broken_blocks),
        "cut_sentences": report.cut_sentences,
        "recall": scores["recall@5"],
        "ndcg": scores["ndcg@10"],
        "precision": scores["precision"],
        "iou": scores["iou"],
        "seconds": seconds,
    }


def _with_relative_times(rows: Sequence[Row]) -> Sequence[Row]:
    """Add the CPU time relative to `fixed`, or to the first strategy."""
    base = next((row for row in rows if row["strategy"] == "fixed"), rows[0])["seconds"]
    return [{**row, "relative_time": float(row["seconds"]) / float(base or 1)} for row in rows]


def _table(rows: Sequence[Row]) -> str:
    head = [name.replace("_", " ") for name in rows[0]]
    return markdown_table(head, [[*map(_cell, row.values())] for row in rows])


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else figure(value)
