"""Ingest: read a book, chunk it, embed new texts, write a generation and publish it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StrategyName
from app.domain.document import Book
from app.domain.errors import (
    BookError,
    BookNotFound,
    ConfigError,
    IndexBusy,
    IndexUnreadable,
    ProviderError,
)
from app.domain.identity import keep_ids
from app.domain.indexed_book import BookList, BookManifest, IndexPoint
from app.domain.retrieval.chunk_terms import TermsOf
from app.domain.retrieval.query import SearchFilter, Vector
from app.services.chunk_vectors import embed_keys, token_counts
from app.services.ingest_plan import (
    Changes,
    IngestPlan,
    IngestReport,
    IngestRequest,
    compare,
    fingerprint,
    planned_report,
)
from app.services.lexical import chunk_vector
from app.services.phases import Advance, Phases
from app.services.ports import BookStore, Embedder, EmbeddingCache, GenerationWriter, LedgerStore
from app.services.recording import recording

_NO_TOKEN_VECTORS = (
    "the chunking strategy 'late' needs an embedder with a vector for each token, as "
    "RAG_EMBEDDER=fastembed:sentence-transformers/all-MiniLM-L6-v2 (`scripts/setup local`)"
)
WRITE_BATCH = 256
"""Chunks with vectors in memory at a time."""


ReadBook: TypeAlias = Callable[[IngestRequest, Advance], Book]
"""Reads a book; calls `Advance` with the number of files read since the last call."""
ChunkBook: TypeAlias = Callable[[Book, IngestRequest, Advance], Iterable[Chunk]]
"""Chunks a book; calls `Advance` with the number of documents done since the last call."""


@dataclass(frozen=True, slots=True)
class IngestBook:
    read_book: ReadBook
    chunk_book: ChunkBook
    embedder: Embedder
    cache: EmbeddingCache
    ledgers: LedgerStore
    terms_of: TermsOf
    index: BookStore
    store_pages: Callable[[Book, Path], None]
    """Stores the pages of a book, given with its folder, if it has no site of its own."""
    encoder: str = ""
    """Identifies what sparse vectors are made by."""

    async def run(self, request: IngestRequest, phases: Phases) -> IngestReport:
        """Update the index from the folder. Raises BookError, IndexBusy, ProviderError and others.

        Readers see the old generation until the last step. On an error the index is unchanged;
        vectors received so far stay in the cache.
        """
        if request.strategy == StrategyName.LATE and self.embedder.embed_in_context is None:
            raise ConfigError(_NO_TOKEN_VECTORS)
        started = perf_counter()
        listed = await self.index.books()
        book = await self._read(request, phases)
        if request.dry_run:
            report = (await self._plan(book, request, phases)).report
        else:
            async with self._writing(book.id, listed) as writer:
                plan = await self._plan(book, request, phases)
                report = await self._carry_out(plan, writer, phases)
            await asyncio.to_thread(self.store_pages, plan.book, request.folder)
        return replace(report, seconds=round(perf_counter() - started, 3), phases=phases.seconds)

    async def _read(self, request: IngestRequest, phases: Phases) -> Book:
        with phases.phase("read", unit="files") as advance:
            book = await asyncio.to_thread(self.read_book, request, advance)
        if not any(document.blocks for document in book.documents):
            message = "no text to index: the folder has no page of a book"
            raise BookError(message, str(request.folder))
        return book

    @asynccontextmanager
    async def _writing(self, book: BookId, listed: BookList) -> AsyncIterator[GenerationWriter]:
        """Hold the book's lock. At the end what is unpublished is deleted.

        IndexBusy if another run holds it, or has published the book since it was `listed`.
        """
        writer = await self.index.begin(book, self.embedder.dimension)
        try:
            if _generation(await self.index.books(), book) > _generation(listed, book):
                raise IndexBusy(
                    f"another ingest wrote book {book!r} while this one read it: run the ingest "
                    "again"
                )
            yield writer
        finally:
            await writer.abandon()

    async def _plan(self, book: Book, request: IngestRequest, phases: Phases) -> IngestPlan:
        """Determine what to do, without changing anything."""
        known = await self.ledgers.load(book.id)
        book, ledger = await asyncio.to_thread(keep_ids, book, known)
        chunks = await self._chunk(book, request, phases)
        with phases.phase("compare"):
            embedder = self.embedder
            made_by = (embedder.space, embedder.dimension, request.strategy, self.encoder)
            digest = await asyncio.to_thread(fingerprint, chunks, *made_by)
            published, faults = await self._published(book.id)
            same = published is not None and published.fingerprint == digest
            comparable = published and not same and not faults
            before = await self._paragraphs(book.id) if comparable else {}
            unchanged = same and not faults
            missing = [] if unchanged else await self._missing(chunks)
            counts = await asyncio.to_thread(token_counts, missing, chunks)
            changes = Changes() if same else compare(before, chunks)
            report = planned_report(request, book, chunks, changes, counts, embedder.tariff)
            report = replace(
                report,
                unchanged=unchanged,
                generation=published.generation if published else 0,
                faults=faults,
                warnings=[*report.warnings, *self._truncation_warnings(counts)],
            )
        changed = ledger if ledger != known else None
        return IngestPlan(request, book, chunks, digest, missing, changed, report)

    async def _chunk(self, book: Book, request: IngestRequest, phases: Phases) -> Sequence[Chunk]:
        with phases.phase("chunk", len(book.documents), "files") as advance:
            chunks = await asyncio.to_thread(lambda: [*self.chunk_book(book, request, advance)])
        if not chunks:
            message = "nothing to index: every block of the book has an excluded kind"
            raise BookError(message, str(request.folder))
        return chunks

    async def _published(self, book: BookId) -> tuple[BookManifest | None, list[str]]:
        """Return the published manifest, None if it is missing or unreadable, and its faults."""
        try:
            return (await self.index.books()).get(book), await self.index.faults(book)
        except BookNotFound:
            return None, []
        except IndexUnreadable as error:
            return None, [str(error)]

    async def _paragraphs(self, book: BookId) -> dict[str, tuple[str, ...]]:
        """Return the paragraph ids of each published chunk, by its id."""
        chunks = await self.index.matching(SearchFilter(books=(book,)))
        return {one.chunk_id: one.paragraph_ids for one in chunks}

    async def _missing(self, chunks: Sequence[Chunk]) -> list[str]:
        """Return the distinct vector keys missing from the cache, in reading order."""
        keys = list(dict.fromkeys(chunk.vector_key for chunk in chunks))
        found = await self.cache.get(self.embedder.space, self.embedder.dimension, keys)
        return [key for key, vector in zip(keys, found, strict=True) if vector is None]

    def _truncation_warnings(self, counts: Sequence[int]) -> list[str]:
        """Warn about texts longer than the model's input limit."""
        limit = self.embedder.tariff.tokens_per_text
        truncated = sum(count > limit for count in counts) if limit else 0
        if not truncated:
            return []
        model = self.embedder.space
        what = f"{truncated:,} texts exceed the {limit} tokens that {model} reads"
        return [f"{what}: only lexical search finds the rest of them"]

    async def _carry_out(
        self, plan: IngestPlan, writer: GenerationWriter, phases: Phases
    ) -> IngestReport:
        report = plan.report
        if not report.unchanged:
            with recording() as spent:
                await self._embed(plan, phases)
            billed = spent.units.input_tokens
            usd = report.usd if report.usd is None or not billed else spent.usd
            report = replace(report, billed_tokens=billed, usd=usd)
            await self._write(writer, plan.chunks, phases)
        # The ledger goes first, so that no published id is ever missing from it. If the run dies
        # in between, the next one gives equal texts the same ids. The ledger can differ from an
        # unchanged book, after a rollback for example.
        if plan.ledger:
            await self.ledgers.save(plan.book.id, plan.ledger)
        if report.unchanged:
            return report
        with phases.phase("publish"):
            published = await writer.publish(self._manifest(plan))
        return replace(report, generation=published.generation)

    async def _embed(self, plan: IngestPlan, phases: Phases) -> None:
        """Embed and cache batch by batch, so that no vector is paid for twice after a crash."""
        missing, embedder = plan.missing, self.embedder
        if not missing:
            return
        done = 0
        with phases.phase("embed", len(missing), "texts") as advance:
            try:
                async for keys, vectors in embed_keys(missing, plan.chunks, embedder):
                    await self.cache.put(embedder.space, embedder.dimension, keys, vectors)
                    done += len(vectors)
                    advance(len(vectors))
            except ProviderError as error:
                error.add_note(
                    f"{done:,} of {len(missing):,} texts are embedded and cached: run the ingest "
                    "again for the rest"
                )
                raise

    async def _write(
        self, writer: GenerationWriter, chunks: Sequence[Chunk], phases: Phases
    ) -> None:
        with phases.phase("index", len(chunks), "chunks") as advance:
            for start in range(0, len(chunks), WRITE_BATCH):
                batch = chunks[start : start + WRITE_BATCH]
                keys = [chunk.vector_key for chunk in batch]
                vectors = await self.cache.get(self.embedder.space, self.embedder.dimension, keys)
                await writer.write(await asyncio.to_thread(self._points, batch, vectors))
                advance(len(batch))

    def _points(
        self, chunks: Sequence[Chunk], vectors: Sequence[Vector | None]
    ) -> list[IndexPoint]:
        return [
            IndexPoint(chunk, _cached(vector), chunk_vector(chunk, self.terms_of))
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]

    def _manifest(self, plan: IngestPlan) -> BookManifest:
        book, chunks, request = plan.book, plan.chunks, plan.request
        return BookManifest(
            book=book.id,
            title=book.title,
            book_version=book.version,
            model=self.embedder.space,
            dimension=self.embedder.dimension,
            strategy=request.strategy,
            site=str(book.site),
            base_url=book.base_url,
            language=book.language,
            fingerprint=plan.fingerprint,
            chunks=len(chunks),
            tokens=sum(chunk.token_count for chunk in chunks),
            files=len(book.documents),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            version=request.edition.version,
            locale=request.edition.locale,
        )


def _generation(books: BookList, book: BookId) -> int:
    return books[book].generation if book in books else 0


def _cached(vector: Vector | None) -> Vector:
    if vector is None:
        raise ProviderError("a vector disappeared from the embedding cache: run the ingest again")
    return vector
