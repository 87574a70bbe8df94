"""Unpacks uploaded zip archives."""

from __future__ import annotations

import lzma
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from app.domain.errors import InputError, StorageError

MAX_FILES = 20_000
MAX_NAME_CHARS = 400
_BLOCK = 2**20


def unpack(archive: Path, folder: Path, max_bytes: int) -> Path:
    """Unpack into the empty `folder`; return the book's folder.

    If the top level of the archive is one folder and nothing else, that folder is the book's.
    Otherwise `folder` is.

    InputError if the file is not a zip archive, if it contains a link, a device, a path that leads
    outside, a repeated name, more than MAX_FILES files, or more than `max_bytes` bytes when
    unpacked. StorageError if the disk fails.
    """
    try:
        _unpack_members(archive, folder, max_bytes)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _refused(f"it holds {Path(str(error.filename)).name!r} twice") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise _refused(f"it is damaged ({error})") from error
    except OSError as error:
        if error.errno is None:  # bz2 raises this for damaged data
            raise _refused(f"it is damaged ({error})") from error
        message = f"the archive cannot be unpacked: {error.strerror}"
        raise StorageError(message) from error
    except (NotImplementedError, RuntimeError, ValueError) as error:
        raise _refused(str(error)) from error
    top = list(folder.iterdir())
    if not top:
        raise _refused("it holds no file")
    return top[0] if len(top) == 1 and top[0].is_dir() else folder


def _unpack_members(archive: Path, folder: Path, max_bytes: int) -> None:
    left = max_bytes
    with zipfile.ZipFile(archive) as file:
        members = file.infolist()
        if len(members) > MAX_FILES:
            raise _refused(f"it holds more than {MAX_FILES:,} files")
        for info in members:
            _require_plain(info)
            path = folder / _safe_path(info.filename)
            if info.is_dir():
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                with file.open(info) as content:
                    left = _copy(content, path, left, max_bytes)


def _require_plain(info: zipfile.ZipInfo) -> None:
    """InputError for what is neither a file nor a folder, or is encrypted."""
    if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise _refused(f"{info.filename[:80]!r} is a link or a device")
    if info.flag_bits & 1:
        raise _refused("it is encrypted")


def _safe_path(name: str) -> PurePosixPath:
    """InputError if the name leads outside the folder or is not portable."""
    path = PurePosixPath(name)
    bad = (
        path.is_absolute()
        or ".." in path.parts
        or "\\" in name
        or len(name) > MAX_NAME_CHARS
        or any(ord(char) < 32 for char in name)
        or any(len(part.encode(errors="surrogateescape")) > 255 for part in path.parts)
    )
    if bad:
        raise _refused(f"the name {name[:80]!r} leads outside or is not portable")
    return path


def _copy(source: IO[bytes], path: Path, left: int, max_bytes: int) -> int:
    """Copy a file; return how many of the `left` bytes remain. InputError if they are exceeded."""
    with path.open("xb") as target:
        while block := source.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise _refused(f"it holds more than {max_bytes:,} bytes when unpacked")
            target.write(block)
    return left


def _refused(why: str) -> InputError:
    return InputError(f"the archive is refused: {why}")
