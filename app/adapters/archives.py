"""Unpacks uploaded zip archives."""

import errno
import lzma
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from app.domain.errors import InputError, StorageError

MAX_FILES = 20_000
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, FileExistsError, NotADirectoryError, IsADirectoryError,
)  # fmt: skip
"""What unpacking raises if the archive is damaged, encrypted, or holds a file as a folder."""


def unpack(archive: Path, folder: Path, max_bytes: int) -> Path:
    """Unpack into the empty `folder`; return the book's folder.

    If the top level of the archive is one folder and nothing else, that folder is the book's.
    Otherwise `folder` is.

    InputError if the file is not a zip archive, is damaged, or contains a link, a device, a path
    that leads outside, a repeated name, more than MAX_FILES files, or more than `max_bytes` bytes
    when unpacked. StorageError if the disk fails.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            if fault := _fault(file.infolist(), max_bytes):
                raise ValueError(fault)
            file.extractall(folder)  # no member becomes longer than it declares
    except _DAMAGED as error:
        raise _refused(str(error)) from error
    except OSError as error:
        if error.errno in (None, errno.ENAMETOOLONG):  # bz2 raises the first for damaged data
            raise _refused(str(error)) from error
        raise StorageError(f"the archive cannot be unpacked: {error.strerror}") from error
    top = list(folder.iterdir())
    if not top:
        raise _refused("it holds no file")
    return top[0] if len(top) == 1 and top[0].is_dir() else folder


def _fault(members: Sequence[zipfile.ZipInfo], max_bytes: int) -> str:
    """Return why an archive of these members is refused; "" if it is not."""
    if len(members) > MAX_FILES:
        return f"it holds more than {MAX_FILES:,} files"
    if sum(one.file_size for one in members) > max_bytes:
        return f"it holds more than {max_bytes:,} bytes when unpacked"
    names = set[PurePosixPath]()
    for one in members:
        if stat.S_IFMT(one.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
            return f"{one.filename[:80]!r} is a link or a device"
        if not _is_safe(one.filename):
            return f"the name {one.filename[:80]!r} leads outside or is not portable"
        if PurePosixPath(one.filename) in names:
            return f"it holds {one.filename[:80]!r} twice"
        names.add(PurePosixPath(one.filename))
    return ""


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _refused(why: str) -> InputError:
    return InputError(f"the archive is refused: {why}")
