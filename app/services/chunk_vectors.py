"""Vectors of chunks: each of its own text or, for late chunking, made within its document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence, Set

from app.domain.chunking.chunk import Chunk
from app.domain.errors import ConfigError, ProviderError
from app.domain.retrieval.query import Vector
from app.services.ports import ContextEmbedder, Embedder
from app.services.provider_failures import require_vector


def token_counts(
    keys: Sequence[str], chunks: Sequence[Chunk], count_tokens: Callable[[str], int]
) -> list[int]:
    """Of the texts that the keys stand for."""
    texts = {chunk.vector_key: chunk.embedding_text for chunk in chunks if chunk.pooled_within}
    return [count_tokens(texts.get(key, key)) for key in keys]


async def embed_keys(
    keys: Sequence[str],
    chunks: Sequence[Chunk],
    embedder: Embedder,
    context_embedder: ContextEmbedder | None,
) -> AsyncIterator[tuple[Sequence[str], Sequence[Vector]]]:
    """Yield (some of the keys, their vectors) as they come, each key once.

    ConfigError when a chunk's vector is to be made within its document, and nothing can;
    ProviderError, which names the chunk, when a vector cannot be searched with; those before it
    are yielded, since they are paid for.
    """
    stands = {chunk.vector_key: f'{chunk.file}, "{chunk.section}"' for chunk in reversed(chunks)}
    async for some, vectors in _made(keys, chunks, embedder, context_embedder):
        sound = 0
        try:
            for key, vector in zip(some, vectors, strict=True):
                of = f"a chunk of {stands[key]}"
                require_vector(vector, embedder.model, embedder.dimension, of)
                sound += 1
        except ProviderError:
            yield some[:sound], vectors[:sound]
            raise
        yield some, vectors


async def _made(
    keys: Sequence[str],
    chunks: Sequence[Chunk],
    embedder: Embedder,
    context_embedder: ContextEmbedder | None,
) -> AsyncIterator[tuple[Sequence[str], Sequence[Vector]]]:
    wanted = set(keys)
    documents = list(_documents(wanted, chunks))
    pooled = {chunk.vector_key for document in documents for chunk in document}
    alone = [key for key in keys if key not in pooled]
    async for start, vectors in embedder.embed_batches(alone):
        yield alone[start : start + len(vectors)], vectors
    for document in documents:
        if context_embedder is None:
            message = f"{embedder.model} gives no vectors of tokens, which late chunking needs"
            raise ConfigError(message)
        texts, places = _as_read(document)
        vectors = await context_embedder.embed_in_context(texts)
        made = {
            chunk.vector_key: vectors[place]
            for chunk, place in zip(document, places, strict=True)
            if chunk.vector_key in wanted
        }
        yield list(made), list(made.values())


def _as_read(document: Sequence[Chunk]) -> tuple[list[str], list[int]]:
    """The chunks' texts below their headings, and the place of each chunk's own among them.

    Headings are what vectors know, but are not pooled into them: measured better than either.
    """
    texts: list[str] = []
    places: list[int] = []
    before: tuple[str, ...] = ()
    for chunk in document:
        if chunk.heading_path not in ((), before):
            texts.append(" > ".join(chunk.heading_path))
        before = chunk.heading_path
        places.append(len(texts))
        texts.append(chunk.reader_text)
    return texts, places


def _documents(wanted: Set[str], chunks: Sequence[Chunk]) -> Iterator[Sequence[Chunk]]:
    """All chunks of each late-chunked document that holds a wanted key; of equal ones the first."""
    documents: dict[tuple[str, str], list[Chunk]] = {}
    for chunk in chunks:
        if chunk.pooled_within:
            documents.setdefault((chunk.pooled_within, chunk.file), []).append(chunk)
    seen: set[str] = set()
    for (within, _), document in documents.items():
        if within not in seen and any(chunk.vector_key in wanted for chunk in document):
            seen.add(within)
            yield document
