"""Compares chunking strategies on a book and questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from time import process_time

from app.domain.chunking.chunk import Chunk
from app.domain.document import Book
from app.domain.evaluation.chunking_report import Report
from app.domain.evaluation.gold_question import Question
from app.services.evaluate import Evaluate, EvaluationRequest
from app.services.ingest import ChunkBook, IngestBook, IngestRequest, ReadBook
from app.services.phases import Advance, Phases, ignore


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """One row of the comparison."""

    strategy: str
    chunks: int
    mean_tokens: float
    duplicates: float
    """Share of chunks with the text of an earlier one, 0 to 1."""
    broken_blocks: int
    """Code, tables, lists, maths and glossary entries up to 700 tokens that no chunk has whole."""
    cut_sentences: int
    """Chunk boundaries inside a sentence."""
    recall: float
    """Recall@5: share of the gold characters that the first five chunks cover."""
    ndcg: float
    """nDCG@10."""
    precision: float
    iou: float
    seconds: float
    """CPU seconds of chunking, with the embedding that `semantic` needs."""
    relative_time: float = 1.0
    """`seconds` relative to `fixed`, or to the first strategy compared."""


@dataclass(frozen=True, slots=True)
class CompareStrategies:
    """The use case. `workbench` opens an empty, temporary index to ingest into and search."""

    read_book: ReadBook
    chunk_book: ChunkBook
    report: Callable[[Book, Sequence[Chunk], IngestRequest], Report]
    workbench: Callable[[], AbstractAsyncContextManager[tuple[IngestBook, Evaluate]]]

    async def run(
        self,
        request: IngestRequest,
        questions: Sequence[Question],
        strategies: Sequence[str],
        phases: Phases,
    ) -> list[StrategyResult]:
        """Return one row for each strategy, in the given order."""
        book = self.read_book(request, ignore)
        rows = [
            await self._row(book, replace(request, strategy=name, book=book.id), questions, phases)
            for name in strategies
        ]
        base = next((row.seconds for row in rows if row.strategy == "fixed"), rows[0].seconds)
        return [replace(row, relative_time=row.seconds / base if base else 1.0) for row in rows]

    async def _row(
        self,
        book: Book,
        request: IngestRequest,
        questions: Sequence[Question],
        phases: Phases,
    ) -> StrategyResult:
        started = process_time()
        chunks = await asyncio.to_thread(lambda: [*self.chunk_book(book, request, ignore)])
        seconds = process_time() - started
        report = self.report(book, chunks, request)
        async with self.workbench() as (ingest, evaluate):
            await _with_chunks(ingest, book, chunks).run(request, phases)
            with phases.phase(request.strategy, len(questions), "questions") as advance:
                asked = EvaluationRequest(book=book.id, k=5)
                evaluation = await evaluate.run(questions, asked, advance)
        scores = evaluation.summary()
        return StrategyResult(
            strategy=request.strategy,
            chunks=report.chunks,
            mean_tokens=report.mean_tokens,
            duplicates=report.duplicates / report.chunks if report.chunks else 0.0,
            broken_blocks=len(report.broken_blocks),
            cut_sentences=report.cut_sentences,
            recall=scores["recall@5"],
            ndcg=scores["ndcg@10"],
            precision=scores["precision"],
            iou=scores["iou"],
            seconds=seconds,
        )


def _with_chunks(ingest: IngestBook, book: Book, chunks: Sequence[Chunk]) -> IngestBook:
    """Return an ingest that reuses these chunks, so that `semantic` embeds sentences only once."""

    def read(_: IngestRequest, advance: Advance) -> Book:
        advance(len(book.documents))
        return book

    def chunk(_: Book, __: IngestRequest, advance: Advance) -> Sequence[Chunk]:
        advance(len(book.documents))
        return chunks

    return replace(ingest, read_book=read, chunk_book=chunk)
