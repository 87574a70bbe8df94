"""Chunking strategies by name; each has a module of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from app.domain.chunking.auto import chunk_auto
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.fixed import chunk_fixed
from app.domain.chunking.late import chunk_late
from app.domain.chunking.recursive import chunk_recursive
from app.domain.chunking.semantic import chunk_semantic
from app.domain.chunking.sentence import chunk_sentence
from app.domain.chunking.structure import chunk_structure
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Book, Document
from app.domain.errors import BookError, InputError, SettingError

Strategy: TypeAlias = Callable[[Document, Book, ChunkingConfig, ChunkingTools], Iterable[Chunk]]
"""Splits a document into chunks, in order and deterministically; it may yield lazily."""

STRATEGIES: Mapping[StrategyName, Strategy] = MappingProxyType(
    {
        StrategyName.STRUCTURE: chunk_structure,
        StrategyName.FIXED: chunk_fixed,
        StrategyName.RECURSIVE: chunk_recursive,
        StrategyName.SENTENCE: chunk_sentence,
        StrategyName.AUTO: chunk_auto,
        StrategyName.SEMANTIC: chunk_semantic,
        StrategyName.LATE: chunk_late,
    }
)


def _line_of(document: Document, error: InputError) -> int:
    """Line of the wrong setting in the front matter; 1 if it is not found."""
    keys = error.settings if isinstance(error, SettingError) else ("rag_strategy",)
    source = document.source
    found = re.search(rf"^[ \t\"']*(?:{'|'.join(keys)})\b", source, re.M)
    return source.count("\n", 0, found.start()) + 1 if found else 1


def stream_chunks(
    document: Document, book: Book, config: ChunkingConfig, tools: ChunkingTools
) -> Iterable[Chunk]:
    """Chunk the document by the strategy of its front matter or else of `config`.

    BookError, naming the file, if the front matter has invalid settings.
    """
    try:
        settings = config.with_settings(document.settings).scaled()
    except InputError as error:
        raise BookError(str(error), document.file, _line_of(document, error)) from error
    return STRATEGIES[settings.strategy](document, book, settings, tools)
