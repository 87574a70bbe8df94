"""Embeds chunks: each text alone or, for late chunking, within its document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set
from itertools import islice
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk
from app.domain.errors import ConfigError, ProviderError
from app.domain.retrieval.query import Vector
from app.services.ports import Embedder
from app.services.provider_failures import require_vector

_CHARACTERS = 4
"""Of a token of a heading, as in English."""
EmbedInContext: TypeAlias = Callable[[Sequence[str]], Awaitable[list[Vector]]]
"""Returns one vector for each text, embedded together as one document, for late chunking."""


def token_counts(keys: Sequence[str], chunks: Sequence[Chunk]) -> list[int]:
    """Return the number of tokens of each key's text, those of its headings estimated."""
    sizes = {chunk.vector_key: _embedded_tokens(chunk) for chunk in chunks}
    return [sizes[key] for key in keys]


def _embedded_tokens(chunk: Chunk) -> int:
    repeated = chunk.overlap_start if len(chunk.own_passages) < len(chunk.passages) else 0
    headings = len(" > ".join(chunk.heading_path)) // _CHARACTERS
    return chunk.token_count - repeated + headings


async def embed_keys(
    keys: Sequence[str],
    chunks: Sequence[Chunk],
    embedder: Embedder,
    embed_in_context: EmbedInContext | None,
) -> AsyncIterator[tuple[Sequence[str], Sequence[Vector]]]:
    """Yield (keys, vectors) batch by batch, each key once.

    ConfigError if a chunk needs late chunking and `embed_in_context` is None. ProviderError, which
    names the chunk, for an unusable vector; the vectors before it are yielded first, since they
    are paid for.
    """
    locations = {chunk.vector_key: f'{chunk.file}, "{chunk.section}"' for chunk in reversed(chunks)}
    async for some, vectors in _embed_all(keys, chunks, embedder, embed_in_context):
        for at, (key, vector) in enumerate(zip(some, vectors, strict=True)):
            of = f"a chunk of {locations[key]}"
            try:
                require_vector(vector, embedder.space, embedder.dimension, of)
            except ProviderError:
                yield some[:at], vectors[:at]
                raise
        yield some, vectors


async def _embed_all(
    keys: Sequence[str],
    chunks: Sequence[Chunk],
    embedder: Embedder,
    embed_in_context: EmbedInContext | None,
) -> AsyncIterator[tuple[Sequence[str], Sequence[Vector]]]:
    wanted = set(keys)
    documents = _documents(wanted, chunks)
    pooled = {chunk.vector_key for document in documents for chunk in document}
    alone = [key for key in keys if key not in pooled]
    rest = iter(alone)
    async for vectors in embedder.embed_batches(alone):
        yield [*islice(rest, len(vectors))], vectors
    for document in documents:
        if embed_in_context is None:
            message = f"{embedder.space} has no token vectors, which late chunking needs"
            raise ConfigError(message)
        texts, positions = _document_texts(document)
        vectors = await embed_in_context(texts)
        made = {
            chunk.vector_key: vectors[position]
            for chunk, position in zip(document, positions, strict=True)
            if chunk.vector_key in wanted
        }
        yield list(made), list(made.values())


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


def _documents(wanted: Set[str], chunks: Sequence[Chunk]) -> list[Sequence[Chunk]]:
    """Return the chunks of each late-chunked document with a wanted key, equal documents once."""
    documents: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        if chunk.pooled_within:
            documents.setdefault((chunk.pooled_within, chunk.file), []).append(chunk)
    found: dict[str, Sequence[Chunk]] = {}
    for (within, _), document in documents.items():
        if any(chunk.vector_key in wanted for chunk in document):
            found.setdefault(within, document)
    return list(found.values())
