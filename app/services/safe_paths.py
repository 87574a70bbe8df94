"""Reads files: those of a book only inside its folder, whatever paths and links say."""

from pathlib import Path

from app.domain.errors import BookError, FileRefused, InputError

OUTSIDE = "lies outside the book's folder: not read"
_MOST = 256_000_000
"""Bytes of a file that is named on the command line."""

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


def read_text(path: Path) -> str:
    """Return the text of a file. InputError if it is too large, unreadable or not UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    if len(data) > _MOST:
        raise InputError(f"{path}: more than {_MOST:,} bytes: check the path")
    return decoded(data, str(path))


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file. FileRefused, with file and line, if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        raise FileRefused(problem, name, line) from error


def shown_name(name: str) -> str:
    r"""Return a file's name for messages, with bytes that are not UTF-8 as `\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
