"""`rag.toml` in a book's folder: the author's settings for chunking this book.

    rag_strategy = "structure"
    rag_high = 600

    [fixed]
    size = 1000

Keys at the top apply to the strategy named there or, without one, to the strategy in use. A table
applies to the strategy that it is named after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.chunking.config import ChunkingConfig, StrategyName, strategy_name
from app.domain.errors import BookError, SettingError, UnknownStrategy
from app.domain.reading_budget import BUDGET, check_size, read_toml
from app.services.safe_paths import file_inside

NAME = "rag.toml"

_TABLE = re.compile(r"\s*\[\s*\"?([\w-]+)")
_KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*[.=]")


@dataclass(frozen=True, slots=True)
class BookSettings:
    """The values of a `rag.toml`, as text, by the name of the setting: `rag_<setting>`."""

    strategy: str | None = None
    top: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lines: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Line number by (table, setting); ("", setting) at the top, (table, "") for a table."""

    def applied_to(self, config: ChunkingConfig) -> ChunkingConfig:
        """Return `config` with the settings of its strategy; the other tables are only checked.

        BookError, with the line if known, if a setting is wrong.
        """
        top = self.top if self.strategy in {None, config.strategy} else {}
        own = {**top, **self.tables.get(config.strategy, {})}
        applied = self._overridden(config, config.strategy, own)
        for name, table in self.tables.items():
            if name != config.strategy:
                self._overridden(config, name, {"rag_strategy": name, **table})
        return applied

    def _overridden(
        self, config: ChunkingConfig, table: str, values: Mapping[str, str]
    ) -> ChunkingConfig:
        try:
            return config.with_settings(values)
        except SettingError as error:
            keys = [(one, key) for key in error.settings for one in (table, "")]
            places = (*keys, (table, ""), ("", table))
            line = next((self.lines[one] for one in places if one in self.lines), 0)
            raise BookError(str(error), NAME, line) from error


def read_book_settings(folder: Path) -> BookSettings:
    """Read the file; empty settings if there is none.

    BookError, with the line if known, if it is not valid.
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
    lines = dict(reversed([*_lines(data.decode())]))
    top: dict[str, str] = {}
    tables: dict[str, Mapping[str, str]] = {}
    for key, value in table.items():
        if key in set(StrategyName) and isinstance(value, dict):
            tables[key] = {
                f"rag_{name}": _text(name, one, lines.get((key, f"rag_{name}"), 0))
                for name, one in value.items()
            }
        elif key.startswith("rag_"):
            top[key] = _text(key, value, lines.get(("", key), 0))
        else:
            message = (
                f"{key}: a setting is `rag_strategy`, `rag_<size>`, or in a table of a strategy's "
                f"name ({', '.join(StrategyName)})"
            )
            raise BookError(message, NAME, lines.get(("", key)) or lines.get((key, ""), 0))
    strategy = top.pop("rag_strategy", None)
    if strategy is not None:
        _check_strategy(strategy, lines.get(("", "rag_strategy"), 0))
    return BookSettings(strategy, top, tables, lines)


def _check_strategy(name: str, line: int) -> None:
    try:
        strategy_name(name)
    except UnknownStrategy as error:
        raise BookError(str(error), NAME, line) from error


def _lines(text: str) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield ((table, setting), line number) of each table and key; used only in messages."""
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _TABLE.match(line):
            table = found[1]
            yield (table, ""), number
        elif found := _KEY.match(line):
            yield (table, f"rag_{found[1]}" if table else found[1]), number


def _text(key: str, value: object, line: int) -> str:
    if not isinstance(value, str | int | float):
        message = f"{key}: write a single value, not a list or table"
        raise BookError(message, NAME, line)
    return str(value).lower() if isinstance(value, bool) else str(value)
