"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    rag_strategy = "structure"
    rag_high = 600

    [fixed]
    size = 1000

Keys at the top apply to the strategy named there or, without one, to the strategy in use. A table
applies to the strategy that it is named after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.chunking.config import ChunkingConfig, StrategyName, strategy_name
from app.domain.errors import BookError, SettingError, UnknownStrategy
from app.domain.reading_budget import BUDGET, check_size, read_toml
from app.services.safe_paths import file_inside

NAME = "rag.toml"


@dataclass(frozen=True, slots=True)
class BookSettings:
    """The values of a `rag.toml`, as text, by the name of the setting: `rag_<setting>`."""

    strategy: str | None = None
    top: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def applied_to(self, config: ChunkingConfig) -> ChunkingConfig:
        """Return `config` with the settings of its strategy; the other tables are only checked.

        BookError if a setting is wrong.
        """
        top = self.top if self.strategy in {None, config.strategy} else {}
        try:
            applied = config.with_settings({**top, **self.tables.get(config.strategy, {})})
            for name in sorted(self.tables.keys() - {config.strategy}):
                config.with_settings({"rag_strategy": name, **self.tables[name]})
        except SettingError as error:
            raise BookError(str(error), NAME) from error
        return applied


def read_book_settings(folder: Path) -> BookSettings:
    """Read the file; empty settings if there is none.

    BookError if it is not valid; with the line if it is not TOML.
    """
    try:
        path = file_inside(folder.resolve(), NAME)
        check_size(path.stat().st_size, BUDGET.settings, NAME)
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return BookSettings()
    except OSError as error:
        message = f"cannot be read ({error.strerror}): check its rights"
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
    strategy = top.pop("rag_strategy", None)
    if strategy is not None:
        try:
            strategy_name(strategy)
        except UnknownStrategy as error:
            raise BookError(str(error), NAME) from error
    return BookSettings(strategy, top, tables)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str | int | float):
        message = f"{key}: write a single value, not a list or table"
        raise BookError(message, NAME)
    return str(value).lower() if isinstance(value, bool) else str(value)
