"""Each theme's page of one text is read into the same blocks; see `tests/fixtures/themes`."""

import re

import pytest

from app.domain.document import BlockKind, Book
from app.domain.page_links import page_links
from tests.conftest import ROOT
from tests.markdown_pages import read_folder

FIXTURES = ROOT / "tests/fixtures/themes"
EXPECTED = {
    "bold": ("paragraph", "An owl hunts at night with ears() and eyes."),
    "heading": ("heading", "Hearing prey"),
    "numbers": ("list", "3. Sit still.\n4. Turn the head."),
    "nesting": ("list", "- Small owls\n  - Elf owl\n- Large owls"),
    "table": ("table", "call | pattern\nhoot | a\\|b"),
    "code": ("code", 'def hoot(times):\n    return "hoo" * times'),
    "admonition": ("admonition", "Keep quiet\n\nLoud steps wake the owl."),
    "tabs": ("paragraph", "Windows: Install with the Windows wizard."),
    "tab": ("paragraph", "Linux: Install with the Linux package."),
    "inline": ("paragraph", r"The speed is $v = \frac{s}{t}$ in the air."),
    "display": ("math", "$$E = m c^2$$"),
    "figure": ("figure", "A barn owl on its roost.\n\nA barn owl"),
    "solution": ("solution", "Solution\n\nThe left ear is higher."),
    "definition": ("glossary_entry", "Pellet\nA lump of bones and fur."),
    "footnote": ("footnote", "Their ears sit at two heights."),
}
WITHOUT = {
    "antora": "footnote",
    "bookdown": "admonition tabs tab figure",
    "docusaurus": "inline display definition",
    "starlight": "inline display definition",
    "hugo-book": "admonition",
    "just-the-docs": "numbers admonition tabs tab",
    "vitepress": "tabs tab inline display definition footnote",
}
"""Theme -> what its generator does not have without plug-ins, or numbers by itself."""
SITES = {
    "mkdocs-readthedocs": "mkdocs",
    "sphinx-alabaster": "sphinx",
    "pydata": "sphinx-book-theme",
}
"""Fixture -> the theme that reads it, unless they have one name."""
_FURNITURE = re.compile(
    r"Owl book|Search|Next|Previous|Edit|Powered|Copyright|©|Built with|¶|Copy|Skip", re.IGNORECASE
)


@pytest.fixture(params=sorted(one.stem for one in FIXTURES.glob("*.html")), scope="module")
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def book(theme: str) -> Book:
    return read_folder(FIXTURES / f"{theme}.html", base_url="https://birds.example/")


def test_a_page_is_read_into_its_blocks_without_furniture(theme: str, book: Book) -> None:
    assert book.site == SITES.get(theme, theme)
    found = [(one.kind.value, one.text) for one in book.blocks()]
    lacking = WITHOUT.get(theme, "").split()
    assert found[0] == ("heading", "Owls and their senses")
    assert [one for name, one in EXPECTED.items() if name not in lacking and one not in found] == []
    assert [text for _, text in found if _FURNITURE.search(text)] == []


def test_its_anchors_and_links_are_on_the_page(theme: str, book: Book) -> None:
    html = (FIXTURES / f"{theme}.html").read_text()
    anchors = {one.anchor for one in book.blocks() if one.anchor}
    assert anchors
    assert all(re.search(rf"""id=["']?{re.escape(one)}["'\s>]""", html) for one in anchors)
    (document,) = book.documents
    links = zip(document.blocks, page_links(document), strict=True)
    assert all(":~:text=" in link for one, link in links if one.kind is BlockKind.PARAGRAPH)


def test_code_has_its_language(theme: str, book: Book) -> None:
    (code,) = [one for one in book.blocks() if "def hoot" in one.text]
    assert code.language == "python"
