"""What most pages begin or end with word for word is no content of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.built_pages import BASE, page
from tests.command_line import write_files
from tests.markdown_pages import read_folder

COOKIES = "<p>This site uses cookies to count visits.</p>"
HELPFUL = "<h2>Feedback</h2><p>Was this page helpful?</p>"
IMPORTS = "<pre>import owls</pre>"


def read(folder: Path, count: int, before: str = "", after: str = "") -> tuple[str, list[str]]:
    """Return the text of the first page, and the warnings, of a site of so many pages."""
    pages = {
        f"{number}.html": page(
            f"<main><h1>Owl {number}</h1>{before}<p>Owl {number} hunts.</p>{after}</main>"
        )
        for number in range(count)
    }
    pages["other.html"] = page("<main><h1>Bats</h1><p>Bats hang.</p></main>")
    book = read_folder(write_files(folder, pages), base_url=BASE)
    warnings = [one.message for one in book.warnings]
    (first,) = (one for one in book.documents if one.file == "0.html")
    return " ".join(block.text for block in first.blocks), warnings


@pytest.mark.parametrize(("before", "after"), [(COOKIES, ""), ("", HELPFUL), (COOKIES, HELPFUL)])
def test_notes_around_most_pages_are_left_out_and_counted(
    tmp_path: Path, before: str, after: str
) -> None:
    count = 9 * ((before + after).count("</"))
    assert read(tmp_path, 9, before, after) == (
        "Owl 0 Owl 0 hunts.",
        [f"{count} blocks left out that most pages begin or end with"],
    )


@pytest.mark.parametrize(
    ("count", "before", "after"),
    [
        (6, COOKIES, ""),  # too few pages
        (9, "<h2>Overview</h2>", ""),  # a heading of text that differs
        (9, "<p>In this chapter:</p>", ""),
        (9, IMPORTS, ""),
        (9, "", f"<h2>Notes</h2>{IMPORTS}"),
    ],
)
def test_what_belongs_to_the_text_stays(
    tmp_path: Path, count: int, before: str, after: str
) -> None:
    text, warnings = read(tmp_path, count, before, after)
    assert warnings == []
    stays = [one.rpartition(">")[2] for one in f"{before}{after}".split("</") if ">" in one]
    assert all(one in text for one in stays)
