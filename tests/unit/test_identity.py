"""Paragraph ids are the hash of what is written; headings have the ids of the real generators."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.document import BlockKind, Site
from app.domain.identity import content_id, norm
from tests.conftest import ROOT
from tests.markdown_pages import read_text

VECTORS = json.loads((ROOT / "tests/data/site-vectors.json").read_text(encoding="utf-8"))
PARAGRAPHS = VECTORS["paragraph_id"]


@pytest.mark.parametrize("case", PARAGRAPHS, ids=[case["norm"] for case in PARAGRAPHS])
def test_ids_are_the_same_in_every_release(case: dict[str, str]) -> None:
    assert norm(case["text"]) == case["norm"]
    assert content_id(case["text"]) == case["id"]


@given(st.text())
def test_norm_is_nfkc_lower_case_letters_and_digits(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).lower()
    assert norm(text) == "".join(char for char in folded if unicodedata.category(char)[0] in "LN")


SAME, HERE = content_id("Same"), content_id("Here")


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("Same.\n\nOther.\n\nsame\n\nSame", [SAME, content_id("Other"), f"{SAME}-2", f"{SAME}-3"]),
        ("{#a}\nOne\n\n{#b}\nSame\n\n{#a}\nHere", [content_id("One"), "b", HERE]),
        (f"{{#{HERE}}}\nSame\n\nHere", [SAME, HERE]),
        ("{#own}\nSame\n\nHere\n\nSame", ["own", HERE, SAME]),
    ],
    ids=["numbered repeats", "an id that is used twice", "an id of a hash", "an author's id"],
)
def test_each_paragraph_has_an_id_of_its_own(source: str, ids: list[str]) -> None:
    assert [one.paragraph_id for one in read_text(source, site=Site.MYST).blocks] == ids


def test_text_without_letters_still_has_an_id() -> None:
    assert content_id("🚀") != content_id("---")
    assert content_id("🚀").startswith("p-")
    (block,) = read_text("````\n```\n````\n").blocks
    assert block.paragraph_id == content_id("```")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A word, *then* another.", "A **word** then [another](https://x.org)"),
        ("With $x^2$ inside.", "With inside."),
        ("With a note[^1] inside.\n\n[^1]: n", "With a note inside.\n\n[^1]: n"),
        ("With {version} inside.", "With inside."),
        ("With ![a picture](x.png) inside.", "With inside."),
        ("Water is H<sub>2</sub>O.", "Water is H2O."),
        ('Straight "quotes" -- and dashes', "Straight “quotes” — and dashes"),
    ],
)
def test_an_id_leaves_markup_maths_and_pictures_out(one: str, other: str) -> None:
    ids = [
        read_text(source, site=Site.DOCUSAURUS, file="p.mdx").blocks[0].paragraph_id
        for source in (one, other)
    ]
    assert ids[0] == ids[1]


def test_an_id_does_not_depend_on_place() -> None:
    alone = read_text("The paragraph.\n").blocks[0]
    moved = read_text("# Title\n\n## Section\n\n> quoted\n\nThe paragraph.\n").blocks[-1]
    assert alone.paragraph_id == moved.paragraph_id


SPHINX = "sphinx_myst_heading_anchors3 (first=section id, others=extra span ids)"
NOT_WRITTEN = ("RAWHTML", "(from _partial", "(footnotes")
"""Headings of the recorded Docusaurus page that other files or the generator itself made."""
NOTE = "\n\nText[^1].\n\n[^1]: A note.\n"


def heading_ids(source: str, site: Site) -> list[str]:
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
    found = heading_ids("\n\n".join(f"## {text}" for text, _ in vectors), site)
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
