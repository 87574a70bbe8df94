"""Ingest a book: read, chunk, embed what is new, write a generation, publish it in one step."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from app.domain.chunking.chunk import Chunk
from app.domain.document import Block, BlockKind, Book, Site
from app.domain.errors import BookError, BookNotFound, ProviderError
from app.domain.identity import content_id, norm
from app.domain.ledger import Ledger, Paragraph, renew
from app.domain.retrieval.query import SparseVector, Vector
from app.services.ports import (
    BookManifest,
    Embedder,
    EmbeddingCache,
    IndexPoint,
    LedgerStore,
    ProgressReporter,
    SparseEncoder,
    VectorIndex,
)

WRITE_BATCH = 256
# `p-0123456789-2`, the second paragraph of the same text, hashes to `p-0123456789`.
_WITHOUT_REPEAT = re.compile(r"(?<=^p-.{10})-\d+$")


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """`site` and `book` are found out from the folder when None."""

    folder: Path
    book: str | None = None
    site: Site | None = None
    base_url: str = ""
    strategy: str = "structure"
    exclude_kinds: frozenset[BlockKind] = frozenset()
    include_orphans: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a run did; with `dry_run` what it would do."""

    book: str
    book_version: str
    files: int
    blocks: dict[str, int]
    chunks: int
    added: int
    changed: int
    """Chunks that took the place of an old one: some of the same paragraphs, other text."""
    removed: int
    embedded: int
    """Texts sent to the embedder."""
    tokens: int
    """Tokens of those texts, by our own count."""
    seconds: float
    warnings: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    dry_run: bool = False


ReadBook = Callable[[IngestRequest], Book]
ChunkBook = Callable[[Book, IngestRequest], Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class IngestBook:
    """The use case. `clock` gives seconds and `now` the time of day; both only for the report."""

    read_book: ReadBook
    chunk_book: ChunkBook
    embedder: Embedder
    cache: EmbeddingCache
    ledgers: LedgerStore
    sparse: SparseEncoder
    index: VectorIndex
    count_tokens: Callable[[str], int]
    clock: Callable[[], float]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def run(self, request: IngestRequest, progress: ProgressReporter) -> IngestReport:
        """Bring the index up to date with the folder. Raises BookError, IndexBusy, ProviderError...

        Nothing is visible to readers before the last step; an error leaves the index as it was,
        and vectors that were paid for stay in the cache.
        """
        started = self.clock()
        book, ledger = await self._read(request, progress)
        chunks = self._chunk(book, request, progress)
        before = await self._indexed(book.id)
        missing = await self._missing(chunks)
        difference = _difference(before, chunks)
        fingerprint = _fingerprint(chunks, self.embedder, request.strategy)
        unchanged = await self._published_fingerprint(book.id) == fingerprint
        tokens = sum(self.count_tokens(text) for text in missing) if not unchanged else 0
        if not request.dry_run and not unchanged:
            await self._publish(book, chunks, missing, fingerprint, request, progress)
            await self.ledgers.save(book.id, ledger)
        return IngestReport(
            book=book.id,
            book_version=book.version,
            files=len(book.documents),
            blocks=dict(sorted(Counter(block.kind.value for block in book.blocks()).items())),
            chunks=len(chunks),
            added=difference.added,
            changed=difference.changed,
            removed=difference.removed,
            embedded=0 if unchanged else len(missing),
            tokens=tokens,
            seconds=round(self.clock() - started, 3),
            warnings=[str(warning) for warning in book.warnings],
            orphans=list(book.orphans),
            dry_run=request.dry_run,
        )

    async def _read(
        self, request: IngestRequest, progress: ProgressReporter
    ) -> tuple[Book, Ledger]:
        progress.start("read", 0, "files")
        book = self.read_book(request)
        progress.advance("read", len(book.documents))
        progress.finish("read")
        if not any(document.blocks for document in book.documents):
            message = "no text to index here: the folder holds no Markdown file of this book"
            raise BookError(message, str(request.folder))
        return keep_ids(book, await self.ledgers.load(book.id))

    def _chunk(
        self, book: Book, request: IngestRequest, progress: ProgressReporter
    ) -> Sequence[Chunk]:
        progress.start("chunk", 0, "chunks")
        chunks = self.chunk_book(book, request)
        progress.advance("chunk", len(chunks))
        progress.finish("chunk")
        if not chunks:
            message = "every block of the book is of an excluded kind: nothing to index"
            raise BookError(message, str(request.folder))
        return chunks

    async def _indexed(self, book: str) -> Mapping[str, tuple[str, ...]]:
        try:
            return await self.index.chunks(book)
        except BookNotFound:
            return {}

    async def _published_fingerprint(self, book: str) -> str:
        return next((m.fingerprint for m in await self.index.books() if m.book == book), "")

    async def _missing(self, chunks: Sequence[Chunk]) -> list[str]:
        """Return the distinct texts that the cache has no vector for, in reading order."""
        texts = list(dict.fromkeys(chunk.embedding_text for chunk in chunks))
        cached = await self.cache.get(self.embedder.model, self.embedder.dimension, texts)
        return [text for text, vector in zip(texts, cached, strict=True) if vector is None]

    async def _publish(
        self,
        book: Book,
        chunks: Sequence[Chunk],
        missing: Sequence[str],
        fingerprint: str,
        request: IngestRequest,
        progress: ProgressReporter,
    ) -> None:
        writer = await self.index.begin(book.id, self.embedder.dimension)
        try:
            await self._embed(missing, progress)
            progress.start("index", len(chunks), "chunks")
            for batch in _batches(chunks, WRITE_BATCH):
                await writer.write(await self._points(batch))
                progress.advance("index", len(batch))
            progress.finish("index")
            progress.start("publish", 0, "")
            await writer.publish(self._manifest(book, chunks, fingerprint, request))
            progress.finish("publish")
        finally:
            await writer.abandon()

    async def _embed(self, texts: Sequence[str], progress: ProgressReporter) -> None:
        """Embed and cache each batch as it comes, so that a crash never pays twice."""
        if not texts:
            return
        model, dimension = self.embedder.model, self.embedder.dimension
        progress.start("embed", len(texts), "chunks")
        done = 0
        async for start, vectors in self.embedder.embed_batches(texts):
            await self.cache.put(model, dimension, texts[start : start + len(vectors)], vectors)
            done += len(vectors)
            progress.advance("embed", len(vectors))
        progress.finish("embed")
        if done != len(texts):
            message = f"the embedder returned {done} vectors for {len(texts)} texts"
            raise ProviderError(message)

    async def _points(self, chunks: Sequence[Chunk]) -> list[IndexPoint]:
        texts = [chunk.embedding_text for chunk in chunks]
        vectors = await self.cache.get(self.embedder.model, self.embedder.dimension, texts)
        return [
            IndexPoint(chunk, self._cached(vector), self._sparse_vector(chunk))
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]

    def _cached(self, vector: Vector | None) -> Vector:
        if vector is None:
            message = "a vector is gone from the embedding cache; run the ingest again"
            raise ProviderError(message)
        return vector

    def _sparse_vector(self, chunk: Chunk) -> SparseVector:
        return self.sparse.encode_document(chunk.embedding_text, chunk.language)

    def _manifest(
        self, book: Book, chunks: Sequence[Chunk], fingerprint: str, request: IngestRequest
    ) -> BookManifest:
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
            fingerprint=fingerprint,
            chunks=len(chunks),
            tokens=sum(chunk.token_count for chunk in chunks),
            files=len(book.documents),
            created_at=self.now().isoformat(timespec="seconds"),
        )


def keep_ids(book: Book, ledger: Ledger) -> tuple[Book, Ledger]:
    """Give the book's blocks the ids that the ledger remembers; return it with what is new."""
    blocks = [block for block in book.blocks() if block.paragraph_id]
    ids, renewed = renew(ledger, [_paragraph(block) for block in blocks])
    given = iter(ids)

    def identified(block: Block) -> Block:
        paragraph_id = next(given) if block.paragraph_id else ""
        return (
            block
            if paragraph_id == block.paragraph_id
            else replace(block, paragraph_id=paragraph_id)
        )

    documents = tuple(
        replace(document, blocks=tuple(identified(block) for block in document.blocks))
        for document in book.documents
    )
    return replace(book, documents=documents), renewed


def _paragraph(block: Block) -> Paragraph:
    authored = block.paragraph_id == block.author_id
    hashed = content_id(block.text) if authored else _WITHOUT_REPEAT.sub("", block.paragraph_id)
    return Paragraph(
        hashed,
        norm(block.text),
        block.file,
        block.heading_path,
        block.url,
        block.author_id if authored else "",
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    added: int
    changed: int
    removed: int


def _difference(before: Mapping[str, tuple[str, ...]], chunks: Sequence[Chunk]) -> _Difference:
    """Compare by chunk id; a new chunk that holds a paragraph of a gone one changes it."""
    ids = {chunk.chunk_id for chunk in chunks}
    gone = {chunk_id: paragraphs for chunk_id, paragraphs in before.items() if chunk_id not in ids}
    owner = {paragraph: chunk_id for chunk_id, ps in gone.items() for paragraph in ps}
    replaced: set[str] = set()
    new = [chunk for chunk in chunks if chunk.chunk_id not in before]
    for chunk in new:
        old = next(
            (owner[p] for p in chunk.paragraph_ids if owner.get(p, "") not in replaced | {""}), None
        )
        if old is not None:
            replaced.add(old)
    return _Difference(
        added=len(new) - len(replaced), changed=len(replaced), removed=len(gone) - len(replaced)
    )


def _fingerprint(chunks: Sequence[Chunk], embedder: Embedder, strategy: str) -> str:
    """Hash all that decides what is stored: equal fingerprints mean nothing to do."""
    digest = hashlib.sha256(f"{embedder.model}\0{embedder.dimension}\0{strategy}".encode())
    for chunk in chunks:
        digest.update(repr(chunk).encode())
    return digest.hexdigest()


def _batches(chunks: Collection[Chunk], size: int) -> Iterator[list[Chunk]]:
    batch: list[Chunk] = []
    for chunk in chunks:
        batch.append(chunk)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
