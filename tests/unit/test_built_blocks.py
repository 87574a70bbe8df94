"""Blocks of built pages, from the mark-up that each theme writes.

`fixtures/built_blocks.txt` has the cases: a name, the HTML, and the blocks that come out, one a
line. After a change that is meant, write them anew with `python -m tests.unit.test_built_blocks`
and read the difference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.reading.book import read_book
from app.domain.document import Block, Book
from tests.built_pages import BASE, write_site
from tests.conftest import ROOT

FILE = ROOT / "tests/fixtures/built_blocks.txt"
NAME, BLOCKS = "\n=== ", "\n---\n"


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield the name, the HTML and the blocks of each case."""
    for case in f"\n{FILE.read_text('utf-8')}".split(NAME)[1:]:
        name, _, rest = case.partition("\n")
        html, _, blocks = rest.partition(BLOCKS)
        yield name, html, blocks.strip("\n")


def book_of(folder: Path, html: str) -> Book:
    body = html if "<main" in html else f"<main>{html}</main>"
    site = write_site(folder, {"index.html": f"<title>A</title>{body}"})
    return read_book(site, base_url=BASE)


def shown(block: Block) -> str:
    facts = {
        "language": block.language,
        "title": block.title,
        "anchor": block.anchor if block.level else "",
        "id": block.author_id,
        "image": block.image,
        "terms": ", ".join(block.terms),
    }
    notes = "".join(f" {name}={value}" for name, value in facts.items() if value)
    return f"{block.kind.value}{notes}: {block.text}".replace("\n", "⏎")


@pytest.mark.parametrize(
    ("html", "blocks"), [case[1:] for case in cases()], ids=[c[0] for c in cases()]
)
def test_the_markup_of_themes_becomes_blocks(html: str, blocks: str, tmp_path: Path) -> None:
    page = book_of(tmp_path, html).documents[0]
    assert [shown(block) for block in page.blocks] == blocks.split("\n")
    for block in page.blocks:
        assert page.source[block.start : block.end] == block.text
        assert all(page.source[part.start : part.end] == part.text for part in block.parts)


def main() -> None:

    text = ""
    for name, html, _ in cases():
        with tempfile.TemporaryDirectory() as folder:
            blocks = book_of(Path(folder), html).documents[0].blocks
        text += f"{NAME[1:]}{name}\n{html}{BLOCKS}" + "".join(f"{shown(one)}\n" for one in blocks)
    FILE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
