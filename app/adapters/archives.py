"""Unpacks uploaded archives: zip, and tar with or without gzip, bzip2 or xz."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

from app.domain.errors import InputError, StorageError

MAX_FILES = 20_000
MAX_NAME_CHARS = 400
_BLOCK = 2**20
_MAX_TAR_HEADER = 2**20
"""Maximum bytes of a long name or of pax fields, which tarfile reads into memory."""
_MAX_PADDING = 2**24
"""Maximum bytes that are read after the last file of a tar archive."""
_TAR_HEADERS = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)


_Member: TypeAlias = tuple[str, IO[bytes] | None]
"""A name and the open file, or None for a folder."""


class _BoundedHeader(tarfile.TarInfo):
    def _proc_member(self, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _TAR_HEADERS and self.size > _MAX_TAR_HEADER:
            message = "a header is too large"
            raise tarfile.HeaderError(message)
        return super()._proc_member(tarfile_)  # type: ignore[misc, no-any-return]


def unpack(archive: Path, folder: Path, max_bytes: int) -> Path:
    """Unpack into the empty `folder`; return the book's folder.

    If the top level of the archive is one folder and nothing else, that folder is the book's.
    Otherwise `folder` is.

    InputError if the file is not an archive, if it contains a link, a device, a path that leads
    outside, a repeated name, more than MAX_FILES files, or more than `max_bytes` bytes when
    unpacked. StorageError if the disk fails.
    """
    try:
        _unpack_members(archive, folder, max_bytes)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _refused(f"it holds {Path(str(error.filename)).name!r} twice") from error
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
        raise _refused(f"it is damaged ({error})") from error
    except OSError as error:
        if error.errno is None:  # bz2 and gzip raise this for damaged data
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
    read = _of_zip if zipfile.is_zipfile(archive) else _of_tar
    with closing(read(archive)) as members:
        for count, (name, file) in enumerate(members, 1):
            if count > MAX_FILES:
                raise _refused(f"it holds more than {MAX_FILES:,} files")
            path = folder / _safe_path(name)
            if file is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                with file:
                    left = _copy(file, path, left, max_bytes)


def _of_zip(archive: Path) -> Generator[_Member, None, None]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            mode = info.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise _refused(f"{info.filename[:80]!r} is a link or a device")
            if info.flag_bits & 1:
                raise _refused("it is encrypted")
            yield info.filename, None if info.is_dir() else file.open(info)


def _of_tar(archive: Path) -> Generator[_Member, None, None]:
    try:
        file = tarfile.open(archive, "r:*", tarinfo=_BoundedHeader)  # noqa: SIM115 - closed below
    except (tarfile.ReadError, tarfile.CompressionError) as error:
        raise _refused("it is neither a zip nor a tar archive") from error
    with file:
        for info in file:
            if not (info.isreg() or info.isdir()) or info.issparse():
                raise _refused(f"{info.name[:80]!r} is a link or a device")
            yield info.name, file.extractfile(info)
        # Read to the end: only there does a compressed archive have its checksum.
        for _ in range(_MAX_PADDING // _BLOCK):
            if file.fileobj is None or not file.fileobj.read(_BLOCK):
                return
        raise _refused(f"it has more than {_MAX_PADDING:,} bytes after its last file")


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
