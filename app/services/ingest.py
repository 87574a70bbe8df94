"""Ingest a book: read, chunk, embed what is new, write a generation, publish it in one step."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from app.domain.book_id import BookId
from app.domain.changes import Changes, compare, fingerprint
from app.domain.chunking.chunk import Chunk
from app.domain.cost import FREE, Tariff
from app.domain.document import Book
from app.domain.errors import (
    BookError,
    BookNotFound,
    IndexBusy,
    IndexUnreadable,
    ProviderError,
)
from app.domain.retrieval.query import Vector
from app.services.chunk_vectors import embed_keys, token_counts
from app.services.ingest_plan import IngestPlan, LedgerUpdate
from app.services.ingest_report import IngestReport, IngestRequest, Memory
from app.services.lexical import chunk_vector
from app.services.paragraph_ids import keep_ids
from app.services.phases import Advance, Phases, ignore
from app.services.ports import (
    BookManifest,
    BookStore,
    ContextEmbedder,
    Embedder,
    EmbeddingCache,
    GenerationWriter,
    IndexPoint,
    LastRunStore,
    LedgerStore,
    ProgressReporter,
    SparseEncoder,
)

__all__ = ["ChunkBook", "IngestBook", "IngestReport", "IngestRequest", "ReadBook"]

WRITE_BATCH = 256
"""Chunks that are in memory with their vectors at a time."""


class ReadBook(Protocol):
    """Calls `advance` with the number of files read since the last call."""

    def __call__(self, request: IngestRequest, advance: Advance = ignore) -> Book: ...


class ChunkBook(Protocol):
    """Calls `advance` with the number of documents done since the last call."""

    def __call__(
        self, book: Book, request: IngestRequest, advance: Advance = ignore
    ) -> Sequence[Chunk]: ...


@dataclass(frozen=True, slots=True)
class IngestBook:
    """The use case. `clock` gives seconds and `now` the time of day; both only for the report.

    `stamp` hashes a book's files and the program that reads them, "" where it cannot be told;
    `encoder` names what makes sparse vectors; `billed` counts the tokens billed so far.
    """

    read_book: ReadBook
    chunk_book: ChunkBook
    embedder: Embedder
    cache: EmbeddingCache
    ledgers: LedgerStore
    sparse: SparseEncoder
    index: BookStore
    memory: LastRunStore
    count_tokens: Callable[[str], int]
    clock: Callable[[], float]
    stamp: Callable[[IngestRequest], str]
    context_embedder: ContextEmbedder | None = None
    """The same embedder, where it can make vectors within a document."""
    tariff: Tariff = FREE
    encoder: str = ""
    billed: Callable[[], int] = lambda: 0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def run(self, request: IngestRequest, progress: ProgressReporter) -> IngestReport:
        """Bring the index up to date with the folder. Raises BookError, IndexBusy, ProviderError...

        Nothing is visible to readers before the last step; an error leaves the index as it was,
        and vectors that were paid for stay in the cache.
        """
        started = self.clock()
        phases = Phases(progress, self.clock)
        source = await asyncio.to_thread(self.stamp, request)
        report = await self._recall(request, source)
        if report is None:
            plan = await self._plan(request, phases)
            report = plan.report(request)
            if not request.dry_run:
                report = await self._carry_out(plan, report, request, phases, source)
                await self._remember(plan, report, request, source)
        return replace(
            report,
            seconds=round(self.clock() - started, 3),
            phases=phases.seconds,
            dry_run=request.dry_run,
        )

    async def _plan(self, request: IngestRequest, phases: Phases) -> IngestPlan:
        """Find out what is to be done; change nothing."""
        book, ids = await self._read(request, phases)
        chunks = await self._chunk(book, request, phases)
        with phases.phase("compare"):
            digest = await asyncio.to_thread(
                fingerprint,
                chunks,
                self.embedder.model,
                self.embedder.dimension,
                request.strategy,
                self.encoder,
            )
            published, before, faults = await self._indexed(book.id, digest)
            same = published is not None and published.fingerprint == digest
            unchanged = same and not faults and not request.force
            missing = [] if unchanged else await self._missing(chunks)
            counts = await asyncio.to_thread(token_counts, missing, chunks, self.count_tokens)
        return IngestPlan(
            book=book,
            chunks=chunks,
            fingerprint=digest,
            published=published,
            unchanged=unchanged,
            changes=Changes() if same else compare(before, chunks),
            missing=missing,
            cost=self.tariff.estimate(counts),
            warnings=self._cut(counts),
            ids=ids,
            faults=faults,
        )

    async def _read(self, request: IngestRequest, phases: Phases) -> tuple[Book, LedgerUpdate]:
        with phases.phase("read", unit="files") as advance:
            book = await asyncio.to_thread(self.read_book, request, advance)
            if not any(document.blocks for document in book.documents):
                message = "no text to index here: the folder holds no Markdown file of this book"
                raise BookError(message, str(request.folder))
            revision = await self.ledgers.revision(book.id)
            known = await self.ledgers.load(book.id)
            book, ledger = await asyncio.to_thread(keep_ids, book, known)
        return book, LedgerUpdate(ledger, ledger != known, revision)

    async def _chunk(self, book: Book, request: IngestRequest, phases: Phases) -> Sequence[Chunk]:
        with phases.phase("chunk", len(book.documents), "files") as advance:
            chunks = await asyncio.to_thread(self.chunk_book, book, request, advance)
        if not chunks:
            message = "every block of the book is of an excluded kind: nothing to index"
            raise BookError(message, str(request.folder))
        return chunks

    async def _indexed(
        self, book: BookId, digest: str
    ) -> tuple[BookManifest | None, Mapping[str, tuple[str, ...]], list[str]]:
        """What is published: manifest, chunks with paragraph ids if it is not this, and what is
        damaged in it.
        """
        try:
            faults = await self.index.faults(book)
            published = await self.index.manifest(book)
            if published is None or published.fingerprint == digest:
                return published, {}, faults
            return published, {} if faults else await self.index.chunks(book), faults
        except BookNotFound:
            return None, {}, []
        except IndexUnreadable as error:
            return None, {}, [str(error)]

    async def _missing(self, chunks: Sequence[Chunk]) -> list[str]:
        """Return the distinct keys that the cache has no vector for, in reading order."""
        keys = [chunk.vector_key for chunk in chunks]
        return await self.cache.missing(self.embedder.model, self.embedder.dimension, keys)

    def _cut(self, counts: Sequence[int]) -> list[str]:
        """Warn of texts of which the model reads the beginning only."""
        limit = self.tariff.pace.tokens_per_text
        cut = sum(count > limit for count in counts) if limit else 0
        longer = (
            f"{cut:,} texts are longer than the {limit} tokens that {self.embedder.model} reads"
        )
        return [f"{longer}: what is cut off is found by its words alone"] if cut else []

    async def _carry_out(
        self,
        plan: IngestPlan,
        report: IngestReport,
        request: IngestRequest,
        phases: Phases,
        source: str,
    ) -> IngestReport:
        if plan.unchanged:
            # After a rollback, say, the ledger may know more than this version of the book.
            if plan.ids.new:
                await self.ledgers.save(plan.book.id, plan.ids.ledger)
            return report
        billed_before = self.billed()
        published = await self._publish(plan, request, phases, source)
        billed = self.billed() - billed_before
        return replace(
            report,
            generation=published.generation,
            billed_tokens=billed,
            usd=self.tariff.price(billed) if billed else report.usd,
        )

    async def _publish(
        self, plan: IngestPlan, request: IngestRequest, phases: Phases, source: str
    ) -> BookManifest:
        writer = await self.index.begin(plan.book.id, self.embedder.dimension)
        try:
            await self._refuse_if_overtaken(plan, request, source)
            await self._embed(plan, phases)
            await self._write(writer, plan.chunks, phases)
            with phases.phase("publish"):
                # First the ledger: ids that readers may have seen are then never forgotten, and
                # ids that nobody saw do no harm. A run that dies between the two is done again
                # with the same ids, since equal texts find their own entries.
                if plan.ids.new:
                    await self.ledgers.save(plan.book.id, plan.ids.ledger)
                return await writer.publish(self._manifest(plan, request))
        finally:
            await writer.abandon()

    async def _refuse_if_overtaken(
        self, plan: IngestPlan, request: IngestRequest, source: str
    ) -> None:
        """Another run may have come and gone while this one read the book."""
        if await asyncio.to_thread(self.stamp, request) != source:
            message = "files changed while they were read: run the ingest again"
            raise BookError(message, str(request.folder))
        if await self.ledgers.revision(plan.book.id) != plan.ids.revision:
            message = (
                f"book {plan.book.id!r} was written by another run while this one read it: "
                "run the ingest again"
            )
            raise IndexBusy(message)

    async def _embed(self, plan: IngestPlan, phases: Phases) -> None:
        """Embed and cache each batch as it comes, so that a crash never pays twice."""
        missing = plan.missing
        if not missing:
            return
        model, dimension = self.embedder.model, self.embedder.dimension
        batches = embed_keys(missing, plan.chunks, self.embedder, self.context_embedder)
        done = 0
        with phases.phase("embed", len(missing), "texts") as advance:
            try:
                async for keys, vectors in batches:
                    await self.cache.put(model, dimension, keys, vectors)
                    done += len(vectors)
                    advance(len(vectors))
            except ProviderError as error:
                error.add_note(_kept(done, len(missing)))
                raise
        if done != len(missing):
            message = f"the embedder returned {done} vectors for {len(missing)} texts"
            raise ProviderError(message)

    async def _write(
        self, writer: GenerationWriter, chunks: Sequence[Chunk], phases: Phases
    ) -> None:
        with phases.phase("index", len(chunks), "chunks") as advance:
            for start in range(0, len(chunks), WRITE_BATCH):
                batch = chunks[start : start + WRITE_BATCH]
                keys = [chunk.vector_key for chunk in batch]
                vectors = await self.cache.get(self.embedder.model, self.embedder.dimension, keys)
                await writer.write(await asyncio.to_thread(self._points, batch, vectors))
                advance(len(batch))

    def _points(
        self, chunks: Sequence[Chunk], vectors: Sequence[Vector | None]
    ) -> list[IndexPoint]:
        return [
            IndexPoint(chunk, _cached(vector), chunk_vector(chunk, self.sparse))
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]

    def _manifest(self, plan: IngestPlan, request: IngestRequest) -> BookManifest:
        book, chunks = plan.book, plan.chunks
        return BookManifest(
            book=book.id,
            title=book.title,
            book_version=book.version,
            model=self.embedder.model,
            dimension=self.embedder.dimension,
            strategy=request.strategy,
            site=book.site.value,
            base_url=book.base_url,
            language=book.language,
            fingerprint=plan.fingerprint,
            chunks=len(chunks),
            tokens=sum(chunk.token_count for chunk in chunks),
            files=len(book.documents),
            created_at=self.now().isoformat(timespec="seconds"),
        )

    async def _recall(self, request: IngestRequest, source: str) -> IngestReport | None:
        """Return the last run's report when everything that went into it is as it was, and what
        came out of it too.
        """
        if not source or request.force:
            return None
        published = await self.index.books()
        stamp = self._stamp(request, source)
        for manifest in published:
            memory = Memory.from_text(await self.memory.recall(manifest.book))
            if (
                memory is not None
                and memory.stamp == stamp
                and memory.fingerprint == manifest.fingerprint
                and memory.report.generation == manifest.generation
                and memory.ledger == await self.ledgers.revision(manifest.book)
                and not await self.index.faults(manifest.book)
            ):
                return memory.report
        return None

    async def _remember(
        self, plan: IngestPlan, report: IngestReport, request: IngestRequest, source: str
    ) -> None:
        if not source:
            return
        memory = Memory(
            stamp=self._stamp(request, source),
            ledger=await self.ledgers.revision(plan.book.id),
            fingerprint=plan.fingerprint,
            report=report.of_the_next_run(),
        )
        await self.memory.remember(plan.book.id, memory.to_text())

    def _stamp(self, request: IngestRequest, source: str) -> str:
        """Hash what goes into a run beside the ledger: source, program, request, settings."""
        facts = (
            source,
            replace(request, folder=Path(), dry_run=False, force=False, exclude_kinds=frozenset()),
            sorted(request.exclude_kinds),
            self.embedder.model,
            self.embedder.dimension,
            self.encoder,
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def _cached(vector: Vector | None) -> Vector:
    if vector is None:
        message = "a vector is gone from the embedding cache: run the ingest again"
        raise ProviderError(message)
    return vector


def _kept(done: int, total: int) -> str:
    return f"{done:,} of {total:,} texts are embedded and kept: run the ingest again for the rest"
