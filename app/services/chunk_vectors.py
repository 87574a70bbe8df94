"""Embeds chunks: each text alone or, for late chunking, within its document."""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice

from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.query import Vector
from app.services.ports import Embedder

_CHARACTERS = 4
"""Of a token of a heading, as in English."""


def token_counts(keys: Sequence[str], chunks: Sequence[Chunk]) -> list[int]:
    """Return the number of tokens of each key's text, those of its headings estimated."""
    sizes = {chunk.vector_key: _embedded_tokens(chunk) for chunk in chunks}
    return [sizes[key] for key in keys]


def _embedded_tokens(chunk: Chunk) -> int:
    repeated = chunk.overlap_start if len(chunk.own_passages) < len(chunk.passages) else 0
    headings = len(" > ".join(chunk.heading_path)) // _CHARACTERS
    return chunk.token_count - repeated + headings


async def embed_keys(
    keys: Sequence[str], chunks: Sequence[Chunk], embedder: Embedder
) -> AsyncIterator[tuple[Sequence[str], Sequence[Vector]]]:
    """Yield (keys, vectors) batch by batch, each key once."""
    pooled = {chunk.vector_key for chunk in chunks if chunk.pooled_within}
    alone = [key for key in keys if key not in pooled]
    rest = iter(alone)
    async for vectors in embedder.embed_batches(alone):
        yield [*islice(rest, len(vectors))], vectors
    if embedder.embed_in_context is None:
        return
    for document in _documents(pooled.intersection(keys), chunks):
        texts, positions = _document_texts(document)
        vectors = await embedder.embed_in_context(texts)
        found = {
            chunk.vector_key: vectors[at] for chunk, at in zip(document, positions, strict=True)
        }
        yield list(found), list(found.values())


def _document_texts(document: Sequence[Chunk]) -> tuple[list[str], list[int]]:
    """Return the document's texts and the index of each chunk's text among them.

    Each new heading path is a separate text. So token vectors depend on headings, but a chunk's
    pooled vector does not include them; both alternatives measured worse (decision 0005).
    """
    texts: list[str] = []
    positions: list[int] = []
    before: tuple[str, ...] = ()
    for chunk in document:
        if chunk.heading_path not in ((), before):
            texts.append(" > ".join(chunk.heading_path))
        before = chunk.heading_path
        positions.append(len(texts))
        texts.append(chunk.text_content)
    return texts, positions


def _documents(wanted: set[str], chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    """Yield the chunks of each late-chunked document with a wanted key, equal documents once."""
    files: dict[str, str] = {}
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        within = chunk.pooled_within
        if within and files.setdefault(within, chunk.file) == chunk.file:
            documents.setdefault(within, []).append(chunk)
    for document in documents.values():
        if any(chunk.vector_key in wanted for chunk in document):
            yield document
