"""What one file may hold, and what a book is without it: refused by name, never by time.

`attacks/bombs.jsonl` has more; here is what a line of it cannot say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.reading.book import read_book, read_text
from app.domain.document import Book, Site
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET, ReadingBudget

pytestmark = pytest.mark.attack("bombs")


def book(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("site", list(Site))
def test_what_is_nested_ever_deeper_is_refused_by_file_and_line(site: Site) -> None:
    text = "".join(" " * (2 * at) + "- x\n" for at in range(2_000))
    with pytest.raises(
        FileRefused, match=r"^page\.md:\d+: nested over 100 levels deep: nest less$"
    ):
        read_text(f"# A\n\n{text}\n", site=site)


def too_large(folder: Path) -> Path:
    """A book of two pages, of which one has more bytes than a file may."""
    book(folder, a_DOT_md="# A\n\nText of a.\n", b_DOT_md="# B\n")
    with (folder / "b.md").open("r+b") as file:
        file.truncate(BUDGET.size + 1)
    return folder


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match=r"^b\.md: the file has 64,000,001 bytes, more than"):
        read_book(too_large(tmp_path))


def test_a_book_goes_on_without_a_refused_file_where_that_is_asked_for(tmp_path: Path) -> None:
    read = read_book(too_large(tmp_path), skip_refused=True)
    assert pages(read) == ["a.md"]
    assert [str(warning) for warning in read.warnings] == [
        "b.md: left out: the file has 64,000,001 bytes, more than the limit of 64,000,000: split it"
    ]


def test_a_page_that_is_not_utf_8_is_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    folder = book(tmp_path, a_DOT_md="# A\n\nText of a.\n")
    (folder / "b.md").write_bytes(b"# B\n\nIt\x92s old.\n")
    with pytest.raises(FileRefused, match=r"^b\.md:3: not UTF-8 .*--skip-refused$"):
        read_book(folder)
    read = read_book(folder, skip_refused=True)
    assert pages(read) == ["a.md"]
    assert str(read.warnings[0]).startswith("b.md:3: left out: not UTF-8 (byte 0x92)")


def test_a_refused_include_leaves_out_the_page(tmp_path: Path) -> None:
    folder = book(
        tmp_path,
        book_DOT_toml='book.src = "."\n',
        SUMMARY_DOT_md="- [A](a.md)\n- [B](b.md)\n",
        a_DOT_md="# A\n\nText.\n",
        b_DOT_md="# B\n\n{{#include c.md}}\n",
        c_DOT_md=">" * 1_000,
    )
    read = read_book(folder, skip_refused=True)
    assert pages(read) == ["a.md"]
    assert [warning.message for warning in read.warnings] == [
        "left out: nested over 100 levels deep: nest less"
    ]


def pages(read: Book) -> list[str]:
    return [document.file for document in read.documents]


def test_the_budget_lets_fifty_megabytes_through() -> None:
    assert ReadingBudget().size > 50_000_000
