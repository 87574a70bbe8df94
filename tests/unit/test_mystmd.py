"""mystmd's Markdown where it differs from MyST-Parser's."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.markdown import read_book
from app.domain.document import Book


def mystmd_book(folder: Path, text: str) -> Book:
    (folder / "myst.yml").write_text("project:\n  title: Lamps\n")
    (folder / "index.md").write_text(text, encoding="utf-8")
    return read_book(folder)


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("1. Café & lamps", "id-1-caf-lamps"),
        ("Don't `burn_it`", "dont-burn-it"),
        ("$x^2$ is", "x-2-is"),
    ],
)
def test_a_heading_has_the_id_of_mystmd(heading: str, anchor: str, tmp_path: Path) -> None:
    (block,) = mystmd_book(tmp_path, f"## {heading}\n").blocks()
    assert block.anchor == anchor


def test_the_ids_of_headings_with_the_same_text_are_numbered(tmp_path: Path) -> None:
    blocks = mystmd_book(tmp_path, "# Wicks\n\n## Wicks\n\n## Wicks\n").blocks()
    assert [block.anchor for block in blocks] == ["wicks", "wicks", "wicks-1"]


def test_a_formula_of_mystmd_has_no_empty_line(tmp_path: Path) -> None:
    blocks = mystmd_book(tmp_path, "x\n$$\n\nText $ a $.\n\n$$\ny\n$$\n").blocks()
    assert [block.text for block in blocks] == ["x $$", "Text $ a $.", "$$\ny\n$$"]


def test_labels_of_formulas_and_pages_are_known_to_links(tmp_path: Path) -> None:
    text = "---\nlabel: top\n---\n$$\n\\label{lamp}\nx\n$$\n\n[](#lamp) [](#top) [](#no)\n"
    (warning,) = mystmd_book(tmp_path, text).warnings
    assert "#no" in str(warning)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("As [@hall09; @lamp].", "As [Hall, 2009; Lamp, 2010]."),
        ("As @hall09 says, see @wicks.", "As Hall [2009] says, see Wicks."),
        ("As {cite:p}`hall09` says.", "As [Hall, 2009] says."),
        ("Ask @someone, me@hall09 or [@someone].", "Ask @someone, me@hall09 or [@someone]."),
    ],
)
def test_citations_of_mystmd_name_the_works(source: str, shown: str, tmp_path: Path) -> None:
    works = "@book{hall09,\n author={Hall, A.}, year=2009}\n@book{lamp,author={Lamp}, year=2010}\n"
    (tmp_path / "works.bib").write_text(works)
    block = next(mystmd_book(tmp_path, f"{source}\n\n(wicks)=\n## Wicks\n").blocks())
    assert block.text == shown
