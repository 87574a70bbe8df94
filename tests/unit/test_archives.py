"""Archives that owners upload, and hostile ones."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest

from app.adapters import archives
from app.adapters.archives import unpack
from app.domain.errors import InputError

LIMIT = 2**20


def zipped(path: Path, *members: tuple[str, bytes], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "book"
    found.mkdir()
    return found


def test_the_only_folder_of_an_archive_is_the_book(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", ("b/docs/a.md", b"x"), ("b/README.md", b"x"))
    assert unpack(archive, folder, LIMIT) == folder / "b"


@pytest.mark.parametrize("name", ["../up.md", "a/../../up.md", "/etc/up.md", "a\\..\\up.md"])
def test_a_name_that_leads_outside_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    archive = zipped(tmp_path / "a", (name, b"x"))
    with pytest.raises(InputError, match="leads outside"):
        unpack(archive, folder, LIMIT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "book"]
    assert list(folder.rglob("*.md")) == []


def lying(path: Path) -> Path:
    """A bomb that declares 10 bytes."""
    zipped(path, ("a.md", bytes(9 * LIMIT)))
    path.write_bytes(path.read_bytes().replace(pack("<L", 9 * LIMIT), pack("<L", 10)))
    return path


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "link": (lambda path: zipped(path, ("a", b"/etc"), mode=0o120777), "link"),
    "device": (lambda path: zipped(path, ("a", b""), mode=0o020644), "device"),
    "pipe": (lambda path: zipped(path, ("a", b""), mode=0o010644), "device"),
    "the same name": (lambda path: zipped(path, ("a.md", b"1"), ("a.md", b"2")), "twice"),
    "a file as folder": (lambda path: zipped(path, ("a", b"1"), ("a/b.md", b"2")), "refused"),
    "a long name": (lambda path: zipped(path, ("x" * 300, b"1")), "refused"),
    "bomb": (lambda path: zipped(path, ("a.md", bytes(LIMIT + 1))), "when unpacked"),
    "parts of a bomb": (
        lambda path: zipped(path, *((f"{n}.md", bytes(LIMIT // 2)) for n in range(3))),
        "when unpacked",
    ),
    "a bomb that declares less": (lying, "refused"),
    "nothing": (zipped, "no file"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_archive_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(InputError, match=why):
        unpack(make(tmp_path / "a"), folder, LIMIT)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= LIMIT


def test_too_many_files_are_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    archive = zipped(tmp_path / "a", *((f"{n}.md", b"") for n in range(4)))
    with pytest.raises(InputError, match="more than 3 files"):
        unpack(archive, folder, LIMIT)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04broken", b"\x1f\x8bbroken"])
def test_what_is_no_archive_is_refused(tmp_path: Path, folder: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match="refused"):
        unpack(tmp_path / "a", folder, LIMIT)


@pytest.mark.parametrize("form", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused(tmp_path: Path, folder: Path, form: int) -> None:
    archive = tmp_path / "a"
    with zipfile.ZipFile(archive, "w", form) as file:
        file.writestr("a.md", os.urandom(200_000))
    data = bytearray(archive.read_bytes())
    for place in range(1_000, len(data) - 500, 997):
        data[place] ^= 0xFF
    archive.write_bytes(bytes(data))
    with pytest.raises(InputError, match="refused"):
        unpack(archive, folder, LIMIT)
