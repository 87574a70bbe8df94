"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    rag_strategy = "fixed"
    rag_size = 1000

The sizes are those of the strategy that it names or, without one, of `structure`.
"""

from __future__ import annotations

from pathlib import Path

from app.adapters.reading.source_files import SourceFiles
from app.domain.chunking.config import ChunkingConfig, strategy_name
from app.domain.errors import BookError, SettingError, UnknownStrategy
from app.domain.reading_budget import read_toml

NAME = "rag.toml"


def chunking_config(folder: Path, strategy: str = "") -> ChunkingConfig:
    """Return the book's settings of a strategy; "" is the one that the book names.

    BookError if the file is not valid. UnknownStrategy if there is none of this name.
    """
    try:
        own = ChunkingConfig().with_settings(_settings(folder))
    except (SettingError, UnknownStrategy) as error:
        raise BookError(str(error), NAME) from error
    return own if strategy in ("", own.strategy) else ChunkingConfig(strategy_name(strategy))


def _settings(folder: Path) -> dict[str, str]:
    """Return the settings by name, `rag_<setting>`; none if there is no file."""
    if not (folder / NAME).exists():
        return {}
    table = read_toml(SourceFiles(folder).settings(NAME), NAME)
    for key, value in table.items():
        if not key.startswith("rag_") or not isinstance(value, str | int | float):
            message = f"{key}: write `rag_strategy` or `rag_<size>` with a single value"
            raise BookError(message, NAME)
    return {key: str(value) for key, value in table.items()}
