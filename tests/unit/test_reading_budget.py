"""What one file may hold, and what a book is without it: refused by name, never by time.

`attacks/bombs.jsonl` has more; here is what a line of it cannot say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.reading.book import read_book
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET
from tests.markdown_pages import read_text

pytestmark = pytest.mark.attack("bombs")


def test_what_is_nested_ever_deeper_is_refused_by_file_and_line() -> None:
    text = "".join(" " * (2 * at) + "- x\n" for at in range(200))
    with pytest.raises(FileRefused, match=r"^page\.md:\d+: nested over 100 levels deep: nest less"):
        read_text(f"# A\n\n{text}\n")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x" * (BUDGET.size + 1), r"b\.md: .*has 64,000,001 bytes, .*limit of 64,000,000"),
        (b"# B\n\nIt\x92s old.\n", r"b\.md:3: .*not UTF-8 \(byte 0x92\)"),
        (b"# B\n\n" + b">" * 1_000, r"b\.md:\d+: .*nested over 100 levels deep: nest less"),
    ],
    ids=["too large", "not UTF-8", "too deep"],
)
def test_a_book_with_a_page_that_is_refused_is_not_read(
    data: bytes, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "book.toml").write_text('book.src = "."\n')
    (tmp_path / "SUMMARY.md").write_text("- [A](a.md)\n- [B](b.md)\n")
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / "b.md").write_bytes(data)
    with pytest.raises(FileRefused, match=f"^{problem}"):
        read_book(tmp_path)
