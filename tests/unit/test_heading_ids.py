"""Ids of headings: what the real generators made of the same headings, and authors' own ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.document import BlockKind, Site
from tests.conftest import ROOT
from tests.markdown_pages import read_text

VECTORS = json.loads((ROOT / "tests/data/site-vectors.json").read_text(encoding="utf-8"))
SPHINX = "sphinx_myst_heading_anchors3 (first=section id, others=extra span ids)"
NOT_WRITTEN = ("RAWHTML", "(from _partial", "(footnotes")
"""Headings of the recorded Docusaurus page that other files or the generator itself made."""
NOTE = "\n\nText[^1].\n\n[^1]: A note.\n"


def ids(source: str, site: Site) -> list[str]:
    """Return the ids of a page's headings of level 2 and below."""
    page = read_text(f"# Page\n\n{source}{NOTE}", site=site)
    return [one.anchor for one in page.blocks if one.kind is BlockKind.HEADING][1:]


@pytest.mark.parametrize(
    ("site", "vectors"),
    [
        (Site.MKDOCS, VECTORS["mkdocs_default"]),
        (Site.MYST, VECTORS[SPHINX]),
        (Site.MYST, VECTORS["jupyter_book_1"]),
        (Site.MDBOOK, VECTORS["mdbook_HEAD_id_function"]),
        (
            Site.DOCUSAURUS,
            [
                (one["source"], one["id"])
                for one in VECTORS["docusaurus_headings_page_order"][1:]
                if not one["source"].startswith(NOT_WRITTEN)
            ],
        ),
    ],
    ids=["mkdocs", "sphinx", "jupyter-book", "mdbook", "docusaurus"],
)
def test_headings_have_the_ids_of_the_real_generator(
    site: Site, vectors: list[tuple[str, str | list[str] | None]]
) -> None:
    expected = [made[0] if isinstance(made, list) else made or "" for _, made in vectors]
    found = ids("\n\n".join(f"## {text}" for text, _ in vectors), site)
    assert len(found) == len(expected)
    differing = [pair for pair in zip(found, expected, strict=True) if len(set(pair)) > 1]
    assert len(differing) <= 0.02 * len(expected), differing


@pytest.mark.parametrize("case", VECTORS["docusaurus_headings_other"][1:])
def test_the_title_of_a_docusaurus_page_has_no_id(case: dict[str, Any]) -> None:
    page = read_text(str(case["page_md"]), site=Site.DOCUSAURUS)
    found = [(f"h{one.level}", one.anchor or None) for one in page.blocks if one.level]
    assert found == [tuple(one) for one in case["ids"]][-len(found) :]


@pytest.mark.parametrize(
    ("written", "site", "text", "anchor"),
    [
        ("## Wick {#Oil-2}", Site.DOCUSAURUS, "Wick", "Oil-2"),
        ("## Wick {/* #oil */}", Site.DOCUSAURUS, "Wick", "oil"),
        ("## Wick {#oil}", Site.MDBOOK, "Wick", "oil"),
        ("## Wick { #oil .big }", Site.MKDOCS, "Wick", "oil"),
        ("## Wick {: #oil }", Site.MKDOCS, "Wick", "oil"),
        ("(oil)=\n## Wick", Site.MYST, "Wick", "oil"),
        ("## Wick[[oil]]", Site.PLAIN, "Wick", "oil"),
        ("## The *wick* of `Lamp()`", Site.PLAIN, "The wick of Lamp()", "the-wick-of-lamp"),
        ('<h2 id="Oil">The <em>wick</em></h2>', Site.MKDOCS, "The wick", "Oil"),
    ],
)
def test_an_authors_own_id_is_kept_and_is_no_text(
    written: str, site: Site, text: str, anchor: str
) -> None:
    page = read_text(f"# Page\n\n{written}\n\nBelow.\n", site=site)
    heading, below = page.blocks[1:]
    assert (heading.text, heading.anchor, below.anchor) == (text, anchor, anchor)
