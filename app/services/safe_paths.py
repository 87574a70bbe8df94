"""Restricts reading to files inside the book's folder, whatever paths and links say."""

from __future__ import annotations

from pathlib import Path

from app.domain.errors import BookError

OUTSIDE = "lies outside the book's folder: not read"
IRREGULAR = "is not a regular file: not read"


def file_inside(folder: Path, name: str) -> Path:
    """Return the file's real path, with all links followed.

    `name` is relative to `folder`, which must be resolved. FileNotFoundError if there is no such
    file, or a link is broken or circular. BookError if the file is outside the folder, or is a
    device, a pipe or a folder.
    """
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise FileNotFoundError(2, "No such file", name) from error
    if not path.is_relative_to(folder):
        raise BookError(OUTSIDE, shown_name(name))
    if not path.is_file():
        raise BookError(IRREGULAR, shown_name(name))
    return path


def shown_name(name: str) -> str:
    r"""Return a file's name for messages, with bytes that are not UTF-8 as `\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
