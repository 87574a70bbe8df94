"""Paragraph ids: the hash of what is written, nothing of where it stands."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.document import Site
from app.domain.identity import content_id, norm
from tests.conftest import ROOT
from tests.markdown_pages import read_text

VECTORS = json.loads((ROOT / "tests/data/site-vectors.json").read_text(encoding="utf-8"))[
    "paragraph_id"
]


@pytest.mark.parametrize("case", VECTORS, ids=[case["norm"] for case in VECTORS])
def test_ids_agree_with_the_site_plugins(case: dict[str, str]) -> None:
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
