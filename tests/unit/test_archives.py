"""Archives that owners upload, and hostile ones."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

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


def tarred(path: Path, *members: tarfile.TarInfo, content: bytes = b"x", form: str = "gz") -> Path:
    with tarfile.open(path, f"w:{form}") as file:  # type: ignore[call-overload]
        for info in members:
            info.size = len(content) if info.isreg() else 0
            file.addfile(info, io.BytesIO(content))
    return path


def member(name: str, type: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type, target
    return info


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "book"
    found.mkdir()
    return found


@pytest.mark.parametrize("form", ["", "gz", "bz2", "xz"])
def test_a_tar_archive_is_unpacked(tmp_path: Path, folder: Path, form: str) -> None:
    archive = tarred(tmp_path / "a", member("b/docs/a.md"), member("b/README.md"), form=form)
    found = unpack(archive, folder, LIMIT)
    assert found == folder / "b"
    assert (found / "docs/a.md").read_bytes() == b"x"


def test_a_zip_archive_is_unpacked(tmp_path: Path, folder: Path) -> None:
    archive = zipped(tmp_path / "a", ("docs/", b""), ("docs/ä.md", b"text"), ("book.toml", b""))
    assert unpack(archive, folder, LIMIT) == folder
    assert (folder / "docs/ä.md").read_bytes() == b"text"


NAMES = [
    "../up.md",
    "a/../../up.md",
    "/etc/up.md",
    "a\\..\\up.md",
    "a\nb.md",
    "x" * 300,
    "d/" * 250,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:12])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_leads_outside_is_refused(
    tmp_path: Path, folder: Path, name: str, kind: str
) -> None:
    name = f"{name}/f.md" if name.startswith("d/") else name
    if kind == "zip":
        archive = zipped(tmp_path / "a", (name, b"x"))
    else:
        archive = tarred(tmp_path / "a", member(name))
    with pytest.raises(InputError, match="leads outside"):
        unpack(archive, folder, LIMIT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "book"]
    assert list(folder.rglob("*.md")) == []


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "symbolic link": (
        lambda path: tarred(path, member("a", tarfile.SYMTYPE, "/etc"), member("a/passwd")),
        "link",
    ),
    "hard link": (lambda path: tarred(path, member("a", tarfile.LNKTYPE, "/etc/passwd")), "link"),
    "device": (lambda path: tarred(path, member("a", tarfile.CHRTYPE)), "device"),
    "pipe": (lambda path: tarred(path, member("a", tarfile.FIFOTYPE)), "device"),
    "link in a zip": (lambda path: zipped(path, ("a", b"/etc"), mode=0o120777), "link"),
    "the same name": (lambda path: zipped(path, ("a.md", b"1"), ("a.md", b"2")), "twice"),
    "a file as folder": (lambda path: zipped(path, ("a", b"1"), ("a/b.md", b"2")), "twice"),
    "bomb in a zip": (lambda path: zipped(path, ("a.md", bytes(LIMIT + 1))), "when unpacked"),
    "bomb in a tar": (
        lambda path: tarred(path, member("a.md"), content=bytes(LIMIT + 1)),
        "when unpacked",
    ),
    "parts of a bomb": (
        lambda path: zipped(path, *((f"{n}.md", bytes(LIMIT // 2)) for n in range(3))),
        "when unpacked",
    ),
    "nothing": (zipped, "no file"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_archive_is_refused(tmp_path: Path, folder: Path, name: str) -> None:
    make, why = REFUSED[name]
    with pytest.raises(InputError, match=why):
        unpack(make(tmp_path / "a"), folder, LIMIT)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= LIMIT


def test_a_bomb_in_a_header_is_refused(tmp_path: Path, folder: Path) -> None:
    """Pax fields are read into memory: 64 MB of zeros need 64 KB of gzip."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 64 * 2**20
    path = tmp_path / "a.tar"
    with path.open("wb") as file:
        file.write(info.tobuf())
        file.truncate(512 + info.size + 1024)
    with pytest.raises(InputError):
        unpack(path, folder, LIMIT)


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


@pytest.mark.parametrize("form", ["zip", "gz", "bz2", "xz"])
def test_a_damaged_archive_is_refused(tmp_path: Path, folder: Path, form: str) -> None:
    content = os.urandom(200_000)
    if form == "zip":
        archive = zipped(tmp_path / "a", ("a.md", content))
    else:
        archive = tarred(tmp_path / "a", member("a.md"), content=content, form=form)
    data = bytearray(archive.read_bytes())
    for place in range(1_000, len(data) - 500, 997):
        data[place] ^= 0xFF
    archive.write_bytes(bytes(data))
    with pytest.raises(InputError, match="refused"):
        unpack(archive, folder, LIMIT)
