"""Compare chunking strategies on one's own book and questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.report import Report
from app.domain.document import Book
from app.domain.evaluation.gold_question import Question
from app.services.evaluate import Evaluate, EvaluationRequest
from app.services.ingest import ChunkBook, IngestBook, IngestRequest
from app.services.phases import Advance, ignore
from app.services.ports import ProgressReporter


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """One row of the comparison."""

    strategy: str
    chunks: int
    mean_tokens: float
    duplicates: float
    """Share of chunks whose text another one has too, 0 to 1."""
    broken_blocks: int
    """Code, tables, lists, maths and glossary entries of at most 700 tokens whole in no chunk."""
    cut_sentences: int
    """Ends of chunks that lie within a sentence."""
    recall: float
    """At 5: share of the gold characters that the first five chunks cover."""
    ndcg: float
    """At 10."""
    precision: float
    iou: float
    seconds: float
    """Of chunking, with what `semantic` embeds to cut."""
    relative_time: float = 1.0
    """`seconds` over those of the strategy `fixed`, or of the first one compared."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """An index of its own to fill and ask."""

    ingest: IngestBook
    evaluate: Evaluate


@dataclass(frozen=True, slots=True)
class CompareStrategies:
    """The use case. `workbench` opens an empty index; `clock` gives CPU or wall seconds."""

    read_book: Callable[[IngestRequest], Book]
    chunk_book: ChunkBook
    report: Callable[[Book, Sequence[Chunk], IngestRequest], Report]
    workbench: Callable[[], AbstractAsyncContextManager[Workbench]]
    clock: Callable[[], float]

    async def run(
        self,
        request: IngestRequest,
        questions: Sequence[Question],
        strategies: Sequence[str],
        progress: ProgressReporter,
    ) -> list[StrategyResult]:
        """Return a row a strategy, in the order asked for."""
        book = self.read_book(request)
        rows = [
            await self._row(
                book, replace(request, strategy=name, book=book.id), questions, progress
            )
            for name in strategies
        ]
        base = next((row.seconds for row in rows if row.strategy == "fixed"), rows[0].seconds)
        return [replace(row, relative_time=row.seconds / base if base else 1.0) for row in rows]

    async def _row(
        self,
        book: Book,
        request: IngestRequest,
        questions: Sequence[Question],
        progress: ProgressReporter,
    ) -> StrategyResult:
        started = self.clock()
        chunks = await asyncio.to_thread(self.chunk_book, book, request)
        seconds = self.clock() - started
        report = self.report(book, chunks, request)
        async with self.workbench() as bench:
            await _given(bench.ingest, book, chunks).run(request, progress)
            progress.start(request.strategy, len(questions), "questions")
            evaluation = await bench.evaluate.run(
                questions,
                EvaluationRequest(book=book.id, k=5),
                lambda done: progress.advance(request.strategy, done),
            )
            progress.finish(request.strategy)
        scores = evaluation.summary()
        return StrategyResult(
            strategy=request.strategy,
            chunks=report.chunks,
            mean_tokens=report.mean_tokens,
            duplicates=report.duplicates / report.chunks if report.chunks else 0.0,
            broken_blocks=len(report.breaches["integrity"]),
            cut_sentences=len(report.breaches["sentences"]),
            recall=scores["recall@5"],
            ndcg=scores["ndcg@10"],
            precision=scores["precision"],
            iou=scores["iou"],
            seconds=seconds,
        )


def _given(ingest: IngestBook, book: Book, chunks: Sequence[Chunk]) -> IngestBook:
    """Let the ingest take what is there: what a strategy embeds to cut would be embedded again."""

    def read(request: IngestRequest, advance: Advance = ignore) -> Book:  # noqa: ARG001 - ReadBook's
        advance(len(book.documents))
        return book

    def chunk(
        book: Book,
        request: IngestRequest,  # noqa: ARG001 - ChunkBook's
        advance: Advance = ignore,
    ) -> Sequence[Chunk]:
        advance(len(book.documents))
        return chunks

    return replace(ingest, read_book=read, chunk_book=chunk)
