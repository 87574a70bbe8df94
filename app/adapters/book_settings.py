"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    strategy = "fixed"

    [fixed]
    size = 1000
    overlap = 200

A table has the settings of the strategy that it is named after.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.errors import BookError
from app.domain.reading_budget import BUDGET, check_size, read_toml
from app.services.safe_paths import file_inside

NAME = "rag.toml"
_SETTINGS = ("strategy", *StrategyName)
_CHUNKING = TypeAdapter(ChunkingConfig)


def read_book_settings(folder: Path) -> ChunkingConfig:
    """Read the file; the default settings if there is none.

    BookError if it is not valid; with the line if it is not TOML.
    """
    try:
        path = file_inside(folder.resolve(), NAME)
        check_size(path.stat().st_size, BUDGET.settings, NAME)
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ChunkingConfig()
    except OSError as error:
        message = f"cannot be read ({error.strerror}): check its rights"
        raise BookError(message, NAME) from error
    table, known = read_toml(data, NAME), asdict(ChunkingConfig())
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
        return _CHUNKING.validate_python(known)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        raise BookError(f"{'.'.join(map(str, first['loc']))}: {problem}", NAME) from error
