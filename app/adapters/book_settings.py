"""`rag.toml` in a book's folder: the author's settings for chunking this book."""

from __future__ import annotations

import tomllib
from pathlib import Path

from app.domain.errors import BookError

NAME = "rag.toml"


def read_book_settings(folder: Path) -> dict[str, str]:
    """Return the flat table `rag_... = value`; empty without the file. BookError if unsound."""
    try:
        table = tomllib.loads((folder / NAME).read_bytes().decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"cannot be read ({error})"
        raise BookError(message, NAME) from error
    for key, value in table.items():
        if not key.startswith("rag_") or not isinstance(value, str | int | float):
            message = f"{key}: a setting is `rag_strategy` or `rag_<size>` with one value"
            raise BookError(message, NAME)
    return {
        key: str(value).lower() if value is True or value is False else str(value)
        for key, value in table.items()
    }
