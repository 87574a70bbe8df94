"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    rag_strategy = "structure"
    rag_high = 600

    [fixed]
    size = 1000

Sizes at the top are those of the strategy named there or, without one, of the strategy in use; a
table has those of the strategy that it is named after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.chunking import StrategyName
from app.domain.errors import BookError
from app.domain.reading_budget import read_toml
from app.services.book_folder import file_inside

NAME = "rag.toml"


@dataclass(frozen=True, slots=True)
class BookSettings:
    """Values as text, by `rag_<setting>`."""

    strategy: str | None = None
    top: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, strategy: str) -> Mapping[str, str]:
        """The settings of this strategy."""
        top = self.top if self.strategy in {None, strategy} else {}
        return {**top, **self.tables.get(strategy, {})}


def read_book_settings(folder: Path) -> BookSettings:
    """Read the file; empty settings if there is none. BookError if it is not valid."""
    try:
        data = file_inside(folder.resolve(), NAME).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return BookSettings()
    except OSError as error:
        message = f"cannot be read ({error})"
        raise BookError(message, NAME) from error
    table = read_toml(data, NAME)
    top: dict[str, str] = {}
    tables: dict[str, Mapping[str, str]] = {}
    for key, value in table.items():
        if key in set(StrategyName) and isinstance(value, dict):
            tables[key] = {f"rag_{name}": _text(name, one) for name, one in value.items()}
        elif key.startswith("rag_"):
            top[key] = _text(key, value)
        else:
            message = (
                f"{key}: a setting is `rag_strategy`, `rag_<size>`, or in a table of a strategy's "
                f"name ({', '.join(StrategyName)})"
            )
            raise BookError(message, NAME)
    return BookSettings(top.pop("rag_strategy", None), top, tables)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str | int | float):
        message = f"{key}: must be a single value"
        raise BookError(message, NAME)
    return str(value).lower() if isinstance(value, bool) else str(value)
