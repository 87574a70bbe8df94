"""Archives that owners upload, and hostile ones."""

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import TypeAlias

import pytest

from app.adapters import archives
from app.adapters.archives import unpack
from app.domain.errors import InputError

LIMIT = 2**20
LINK, DEVICE, PIPE = 0o120777, 0o020644, 0o010644
Members: TypeAlias = Sequence[tuple[str, bytes]]


def zipped(path: Path, members: Members, mode: int = 0, form: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = form
            file.writestr(info, content)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "book"
    found.mkdir()
    return found


def test_the_only_folder_of_an_archive_is_the_book(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", [("b/docs/a.md", b"x"), ("b/README.md", b"x")])
    assert unpack(archive, folder, LIMIT) == folder / "b"


REFUSED: dict[str, tuple[bytes | Members, int, str]] = {
    "up": ([("../up.md", b"x")], 0, "leads outside"),
    "up from a folder": ([("a/../../up.md", b"x")], 0, "leads outside"),
    "from the root": ([("/etc/up.md", b"x")], 0, "leads outside"),
    "backslashes": ([("a\\..\\up.md", b"x")], 0, "leads outside"),
    "link": ([("a", b"/etc")], LINK, "link"),
    "device": ([("a", b"")], DEVICE, "device"),
    "pipe": ([("a", b"")], PIPE, "device"),
    "the same name": ([("a.md", b"1"), ("a.md", b"2")], 0, "twice"),
    "the same path": (
        [("a/b.md", b"1"), ("a//b.md", b"2")],
        0,
        "refused: it holds 'a//b.md' twice",
    ),
    "a file as folder": ([("a", b"1"), ("a/b.md", b"2")], 0, "refused"),
    "a long name": ([("x" * 300, b"1")], 0, "refused"),
    "bomb": ([("a.md", bytes(LIMIT + 1))], 0, "when unpacked"),
    "parts of a bomb": ([(f"{n}.md", bytes(LIMIT // 2)) for n in range(3)], 0, "when unpacked"),
    "too many files": ([(f"{n}.md", b"") for n in range(4)], 0, "more than 3 files"),
    "no file": ([], 0, "no file"),
    "nothing": (b"", 0, "refused"),
    "text": (b"text", 0, "refused"),
    "a broken zip": (b"PK\x03\x04broken", 0, "refused"),
    "another kind": (b"\x1f\x8bbroken", 0, "refused"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("content", "mode", "why"), REFUSED.values(), ids=REFUSED)
def test_a_hostile_archive_is_refused(
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | Members,
    mode: int,
    why: str,
) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    archive = tmp_path / "a"
    if isinstance(content, bytes):
        archive.write_bytes(content)
    else:
        zipped(archive, content, mode)
    with pytest.raises(InputError, match=why):
        unpack(archive, folder, LIMIT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "book"]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= LIMIT


def test_a_bomb_that_declares_less_is_refused(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", [("a.md", bytes(9 * LIMIT))])
    archive.write_bytes(archive.read_bytes().replace(pack("<L", 9 * LIMIT), pack("<L", 10)))
    with pytest.raises(InputError, match="refused"):
        unpack(archive, folder, LIMIT)
    assert sum(path.stat().st_size for path in folder.rglob("*")) <= LIMIT


@pytest.mark.parametrize("form", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_refused(tmp_path: Path, folder: Path, form: int) -> None:
    archive = zipped(tmp_path / "a", [("a.md", os.urandom(200_000))], form=form)
    data = bytearray(archive.read_bytes())
    for place in range(1_000, len(data) - 500, 997):
        data[place] ^= 0xFF
    archive.write_bytes(bytes(data))
    with pytest.raises(InputError, match="refused"):
        unpack(archive, folder, LIMIT)
