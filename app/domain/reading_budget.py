"""Limits on one file of a book, which keep reading linear in time and memory.

They count instead of measuring time, so the result is the same on every machine. They are far
above the size of real books. A file that exceeds a limit raises FileRefused, which names it.
"""

import json
import re
import tomllib
from dataclasses import dataclass
from math import isfinite
from typing import Any

from app.domain.errors import BookError, FileRefused, InputError, place


@dataclass(frozen=True, slots=True)
class ReadingBudget:
    """Maximum values for one file."""

    size: int = 64_000_000
    """Bytes of a page."""
    depth: int = 100
    """Nesting of lists, list items, quotes and containers: 50 nested lists."""
    steps: int = 200_000
    """Tokens of Markdown, independent of the length."""
    steps_a_character: int = 5
    """Additional tokens for each character."""
    settings: int = 1_000_000
    """Bytes of a settings file: `mkdocs.yml`, `book.toml`, `rag.toml`."""
    brackets: int = 1_000_000
    """Lists and objects in a notebook's JSON, counted by their opening brackets."""
    keys: int = 100
    """Dots in one line of a TOML file: each may nest a table."""

    def steps_of(self, text: str) -> int:
        return self.steps + self.steps_a_character * len(text)


BUDGET = ReadingBudget()


def check_size(size: int, most: int, file: str) -> None:
    """FileRefused if `size` bytes are more than `most`."""
    if size > most:
        message = f"the file has {size:,} bytes, more than the limit of {most:,}: split it"
        raise FileRefused(message, file)


_DOTTED = re.compile(rf"^(?:[^.\n]*\.){{{BUDGET.keys}}}", re.M)


def read_toml(text: str, file: str) -> dict[str, object]:
    """Parse a TOML file. BookError, with file and line, if it is invalid.

    FileRefused if it is nested too deeply.
    """
    if dotted := _DOTTED.search(text):
        message = f"more than {BUDGET.keys} dots in one line: nest fewer tables"
        raise FileRefused(message, file, text.count("\n", 0, dotted.start()) + 1)
    try:
        table = tomllib.loads(text)
        require_small_numbers(table)
        return table
    except RecursionError as error:
        raise FileRefused("tables or lists are nested too deeply: nest fewer", file) from error
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 only the text of the error names the line.
        reason, _, where = str(error).partition(" (at line ")
        line = int(where.partition(",")[0]) if where else text.count("\n") + 1
        raise BookError(f"not valid TOML: {reason}; correct this line", file, line) from error
    except ValueError as error:
        raise BookError(f"not valid TOML: {error}", file) from error


def read_json(text: str, file: str, *, expected: str) -> Any:  # noqa: ANN401
    """Parse JSON. InputError, with the file, the line and what is `expected`, if it is invalid."""
    try:
        value = json.loads(text)
        require_small_numbers(value)
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "nested too deep" if deep else getattr(error, "msg", str(error))
        where = place(file, getattr(error, "lineno", 0))
        raise InputError(f"{where}: not JSON ({reason}): {expected}") from error
    return value


def require_small_numbers(value: object) -> None:
    """ValueError if a loaded value contains a number that is not finite or over 64 bits."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, int | float) and not is_small_number(one):
            raise ValueError("a number is not finite or over 64 bits")


def is_small_number(value: float) -> bool:
    """Whether an integer has at most 64 bits, a float is finite."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else isfinite(value)
