"""The strategies by name."""

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
    """Cuts a document into chunks, in order; the same input gives the same chunks.

    They may be made one at a time, as they are asked for.
    """

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
    """The strategy of this name. UnknownStrategy, which lists the names, if there is none."""
    return STRATEGIES[strategy_name(name)]


def chunk_document(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> list[Chunk]:
    """Return the chunks of `stream_chunks` at once."""
    return list(stream_chunks(document, book, config, tools))


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """The document's chunks by the strategy that `config`, or its own front matter, names.

    BookError, naming the file, if its front matter has settings that cannot be read.
    """
    try:
        settings = config.with_settings(document.settings)
    except InputError as error:
        raise BookError(str(error), document.file, 1) from error
    return STRATEGIES[settings.strategy](document, book, settings, tools)
