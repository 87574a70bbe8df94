"""Chunking strategies by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

from app.domain.chunking.auto import chunk_by_kind
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName, strategy_name
from app.domain.chunking.fixed import chunk_by_size
from app.domain.chunking.late import chunk_late
from app.domain.chunking.recursive import chunk_recursively
from app.domain.chunking.semantic import chunk_by_meaning
from app.domain.chunking.sentence import chunk_by_sentences
from app.domain.chunking.structure import chunk_by_structure
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Book, Document
from app.domain.errors import BookError, InputError


class Strategy(Protocol):
    """Splits a document into chunks, in order and deterministically; it may yield lazily."""

    def __call__(
        self, document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
    ) -> Iterable[Chunk]: ...


STRATEGIES: Mapping[StrategyName, Strategy] = MappingProxyType(
    {
        StrategyName.STRUCTURE: chunk_by_structure,
        StrategyName.FIXED: chunk_by_size,
        StrategyName.RECURSIVE: chunk_recursively,
        StrategyName.SENTENCE: chunk_by_sentences,
        StrategyName.AUTO: chunk_by_kind,
        StrategyName.SEMANTIC: chunk_by_meaning,
        StrategyName.LATE: chunk_late,
    }
)


def get_strategy(name: str) -> Strategy:
    """Return the strategy of this name. UnknownStrategy, listing all names, if there is none."""
    return STRATEGIES[strategy_name(name)]


def chunk_document(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> list[Chunk]:
    """Return the chunks of `stream_chunks` as a list."""
    return list(stream_chunks(document, book, config, tools))


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of its front matter or else of `config`.

    BookError, naming the file, if the front matter has invalid settings.
    """
    try:
        settings = config.with_settings(document.settings).scaled()
    except InputError as error:
        raise BookError(str(error), document.file, 1) from error
    return STRATEGIES[settings.strategy](document, book, settings, tools)
