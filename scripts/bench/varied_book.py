"""A book of any size, made of the development books' chunks.

When the chunks run out they are used again. In each round two words of three are replaced by others
of similar frequency, so that vocabulary and document frequencies stay those of a book.
"""

from __future__ import annotations

import random
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from app.adapters.bm25 import Bm25Encoder
from app.adapters.local_embedder import DIMENSION, MODEL, LocalEmbedder
from app.adapters.qdrant.edge import EdgeIndex
from app.bootstrap.books import chunk_book, read_source
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import Site
from app.services.ingest_plan import IngestRequest
from app.services.lexical import chunk_vector
from app.services.ports import BookManifest, IndexPoint

BOOK = "bench"
_BOOKS = (
    ("openstax-biology", Site.PLAIN),
    ("rust-book-quizzes", Site.MDBOOK),
    ("redux-docs", Site.DOCUSAURUS),
    ("hf-course", Site.PLAIN),
)
_BATCH = 512
_WORD = re.compile(r"[a-z]{4,}")


def varied_book(real: Sequence[Chunk], count: int) -> list[Chunk]:
    """Return `count` chunks: the real ones in another order, then with other words."""
    shuffled = list(real)
    random.Random(5).shuffle(shuffled)
    return list(islice(varied(shuffled), count))


def real_chunks(data: Path) -> list[Chunk]:
    chunks: list[Chunk] = []
    for name, site in _BOOKS:
        asked = IngestRequest(data / "books" / name, book=BookId(name), site=site)
        chunks += chunk_book(read_source(asked), asked)
    return chunks


def varied(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks, and then repeated with other words."""
    yield from (renamed(chunk, 0, {}) for chunk in chunks)
    counts = Counter(word for one in chunks for word in _WORD.findall(one.text_content))
    ranked = [word for word, _ in counts.most_common()]
    for number in range(1, 10_000):
        words = exchanged(ranked, random.Random(number))
        yield from (renamed(chunk, number, words) for chunk in chunks)


def exchanged(ranked: Sequence[str], chance: random.Random) -> dict[str, str]:
    """Replace two words of three by others near them in rank; keep the hundred most frequent."""
    words: dict[str, str] = {}
    for start in range(100, len(ranked), 60):
        group = chance.sample(ranked[start : start + 60], k=min(40, len(ranked) - start))
        words.update(zip(group, group[1:] + group[:1], strict=True))
    return words


def renamed(chunk: Chunk, number: int, words: Mapping[str, str]) -> Chunk:
    def swap(text: str) -> str:
        return _WORD.sub(lambda match: words.get(match[0], match[0]), text) if words else text

    def name(paragraph_id: str) -> str:
        return f"{paragraph_id}-{number}" if number and paragraph_id else paragraph_id

    file = f"{chunk.book}/{number}/{chunk.file}"
    path = tuple(map(swap, chunk.heading_path))
    passages = tuple(
        replace(
            one,
            paragraph_id=name(one.paragraph_id),
            text=swap(one.text),
            heading_path=path,
            terms=tuple(map(swap, one.terms)),
        )
        for one in chunk.passages
    )
    return replace(
        chunk,
        chunk_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{file}/{chunk.chunk_id}")),
        book=BookId(BOOK),
        book_version="0" * 16,
        file=file,
        position=chunk.position + 1_000 * number,
        text_content=swap(chunk.text_content),
        paragraph_ids=tuple(map(name, chunk.paragraph_ids)),
        heading_path=path,
        language="en",
        passages=passages,
    )


async def build(chunks: Sequence[Chunk], home: Path) -> None:
    """Index them like an ingest, with the local model in the embedded engine."""
    embedder, sparse = LocalEmbedder.load(), Bm25Encoder()
    writer = await EdgeIndex(home).begin(BookId(BOOK), DIMENSION)
    for start in range(0, len(chunks), _BATCH):
        batch = chunks[start : start + _BATCH]
        vectors = await embedder.embed_documents([one.embedding_text for one in batch])
        points = [
            IndexPoint(one, vector, chunk_vector(one, sparse))
            for one, vector in zip(batch, vectors, strict=True)
        ]
        await writer.write(points)
    await writer.publish(manifest(chunks))


def manifest(chunks: Sequence[Chunk]) -> BookManifest:
    return BookManifest(
        book=BookId(BOOK),
        title="Bench",
        book_version="0" * 16,
        model=MODEL,
        dimension=DIMENSION,
        strategy="structure",
        site="plain",
        base_url="",
        language="en",
        fingerprint="",
        chunks=len(chunks),
        tokens=sum(one.token_count for one in chunks),
        files=len({one.file for one in chunks}),
        created_at="2026-01-01T00:00:00+00:00",
    )
