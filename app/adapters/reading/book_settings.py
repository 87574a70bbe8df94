"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    strategy = "fixed"

    [fixed]
    size = 1000
    overlap = 200

A table has the settings of the strategy that it is named after.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.adapters.reading.source_files import SourceFiles
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.errors import BookError
from app.domain.reading_budget import read_toml

NAME = "rag.toml"
_SETTINGS = ("strategy", *StrategyName)
_CHUNKING = TypeAdapter(ChunkingConfig)


def chunking_config(folder: Path, strategy: StrategyName | None = None) -> ChunkingConfig:
    """Return the book's settings with this strategy, or the one that the book names.

    BookError if the file is not valid.
    """
    known = asdict(ChunkingConfig())
    table = read_toml(SourceFiles(folder).settings(NAME), NAME) if (folder / NAME).exists() else {}
    for name, given in table.items():
        sizes = known[name] if name in set(StrategyName) else {}
        if name not in _SETTINGS:
            raise BookError(f"{name}: the settings are {', '.join(_SETTINGS)}", NAME)
        if not sizes or not isinstance(given, dict):
            known[name] = given
        elif unknown := given.keys() - sizes:
            message = f"{name}.{min(unknown)}: the settings are {', '.join(sizes)}"
            raise BookError(message, NAME)
        else:
            known[name] = sizes | given
    try:
        own = _CHUNKING.validate_python(known)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        raise BookError(f"{'.'.join(map(str, first['loc']))}: {problem}", NAME) from error
    return replace(own, strategy=strategy) if strategy else own
