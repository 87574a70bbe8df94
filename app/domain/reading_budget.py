"""How much one file of a book may hold: counted, never timed, so that a book reads alike anywhere.

What goes beyond it is refused by name. The numbers are far above what books hold and low enough
that every file is read, or refused, in time and memory proportional to its size.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass

from app.domain.errors import BookError, FileRefused


@dataclass(frozen=True, slots=True)
class Budget:
    """The most of each that one file may take."""

    size: int = 64_000_000
    """Bytes of a page, or of a file that one includes."""
    included: int = 16_000_000
    """Characters that a page's includes bring, those of included files counted too."""
    includes: int = 10_000
    """Includes of a page, those of included files counted too."""
    depth: int = 100
    """Lists, their items, quotes and containers inside each other: fifty nested lists."""
    blocks: int = 1_000_000
    steps: int = 200_000
    """Steps of the parser: tokens made and inline mark-up tried. This many, and"""
    steps_a_character: int = 5
    """so many for each character of the text."""
    settings: int = 1_000_000
    """Bytes of a file of settings: `mkdocs.yml`, `book.toml`, `rag.toml`."""
    nodes: int = 100_000
    """Nodes of a YAML text, each alias and merge counted as all that it stands for."""
    keys: int = 100
    """Dots in one line of a TOML file: each may be a table inside another."""

    def steps_of(self, text: str) -> int:
        return self.steps + self.steps_a_character * len(text)


BUDGET = Budget()


def check_size(size: int, most: int, file: str) -> None:
    """Raise FileRefused if a file of `size` bytes is larger than `most`."""
    if size > most:
        message = f"{size:,} bytes, of {most:,} that one file may have: split it"
        raise FileRefused(message, file)


_DOTTED = re.compile(rf"^(?:[^.\n]*\.){{{BUDGET.keys}}}", re.M)


def read_toml(data: bytes, file: str) -> dict[str, object]:
    """Read a TOML file. BookError with its name, and the line where one is known."""
    check_size(len(data), BUDGET.settings, file)
    try:
        text = data.decode()
        dotted = _DOTTED.search(text)
        if dotted:
            message = f"over {BUDGET.keys} dots in one line: use fewer tables inside each other"
            raise FileRefused(message, file, text.count("\n", 0, dotted.start()) + 1)
        return tomllib.loads(text)
    except RecursionError as error:
        message = "tables or lists too deep inside each other: nest fewer"
        raise FileRefused(message, file) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        raise BookError(message, file, line) from error
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"is no TOML: {error}", file, getattr(error, "lineno", 0)) from error
