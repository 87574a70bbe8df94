"""Deep links: a fragment quotes words of one clean run that the page has once."""

import re
import tracemalloc
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.document import BlockKind, Document, Site
from app.domain.links import deep_link, folded_words
from app.domain.page_links import clean_runs, page_links
from tests.conftest import ROOT
from tests.markdown_pages import read_folder, read_text
from tests.recorded_cases import case_lines

BOOKS = ROOT / "tests/fixtures/books"


def directive(link: str) -> tuple[str, str]:
    """Return a link's quoted text and suffix, decoded; ("", "") without a text fragment."""
    _, found, value = link.partition(":~:text=")
    if not found:
        return "", ""
    text, _, suffix = value.partition(",-")
    return unquote(text), unquote(suffix)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def occurrences(needle: list[str], page: Document) -> int:
    everything = [word for block in page.blocks for run in clean_runs(block) for word in words(run)]
    size = len(needle)
    return sum(everything[at : at + size] == needle for at in range(len(everything) - size + 1))


@pytest.mark.parametrize(
    ("url", "quote", "link"),
    [
        ("https://x.org/p", ("a b", ""), "https://x.org/p#:~:text=a%20b"),
        ("https://x.org/p#s", ("a b", "c"), "https://x.org/p#s:~:text=a%20b,-c"),
        ("https://x.org/p#s", ("", ""), "https://x.org/p#s"),
        ("#s", ("state-of-the-art", ""), "#s:~:text=state%2Dof%2Dthe%2Dart"),
        ("#s", ("comma, and & more", ""), "#s:~:text=comma%2C%20and%20%26%20more"),
        ("#s", ("100 % sure?", ""), "#s:~:text=100%20%25%20sure%3F"),
        ("#s", ("اردو", ""), "#s:~:text=%D8%A7%D8%B1%D8%AF%D9%88"),
    ],
)
def test_a_deep_link_is_address_anchor_and_encoded_fragment(
    url: str, quote: tuple[str, str], link: str
) -> None:
    assert deep_link(url, *quote) == link


@pytest.mark.parametrize(("source", "quoted"), case_lines("clean_quotes"))
def test_a_quote_bridges_nothing_that_the_page_shows_otherwise(source: str, quoted: str) -> None:
    page = read_text(f"{source}\n\n[^1]: Note.\n", site=Site.DOCUSAURUS, file="p.mdx")
    text, suffix = directive(page_links(page)[0])
    assert text == quoted
    assert any(text in run for run in clean_runs(page.blocks[0]))
    assert suffix == ""


REPEATED = {
    "the shortest run that is unique": (
        "One two three four five.\n\nOne two three four six.\n",
        {0: ("two three four five", ""), 1: ("two three four six", "")},
    ),
    "told apart by what follows": (
        "The same words twice.\n\nApples here.\n\nThe same words twice.\n\nPears.\n",
        {0: ("The same words twice.", "Apples"), 2: ("The same words twice.", "Pears")},
    ),
    "with the marks between": (
        "**Fixed:**\n\n- Support it.\n\n**Fixed:**\n\n- (Back) it goes.\n",
        {0: ("Fixed:", "Support"), 2: ("Fixed:", "(Back")},
    ),
    "not across a formula": (
        "where:\n\n- $x$ is the width.\n\nwhere:\n\n- height is given.\n",
        {0: ("", "")},
    ),
    "not across a block of mathematics": (
        "where:\n\n$$\nx\n$$\n\nis the width.\n\nwhere:\n\n- height is given.\n",
        {0: ("", "")},
    ),
    "not across a footnote reference": (
        "# A\n\nSo it is.[^1]\n\n## B\n\nSo it is.\n\n## C\n\n[^1]: Note.\n",
        {1: ("", ""), 3: ("So it is.", "C")},
    ),
}
"""Source -> quote and suffix of the link of some blocks."""


@pytest.mark.parametrize(("source", "quoted"), REPEATED.values(), ids=REPEATED)
def test_what_the_page_repeats_is_quoted_so_that_it_is_unique(
    source: str, quoted: dict[int, tuple[str, str]]
) -> None:
    links = page_links(read_text(source, site=Site.MKDOCS))
    assert {number: directive(links[number]) for number in quoted} == quoted


def test_a_quote_is_not_of_words_that_the_pages_title_has() -> None:
    source = "---\ntitle: Owls hunt at night\n---\n\nOwls hunt at night in the woods.\n"
    page = read_text(source, site=Site.DOCUSAURUS, file="p.mdx")
    assert directive(page_links(page)[0])[0] == "hunt at night in"


def test_a_heading_needs_its_anchor_only() -> None:
    page = read_text("# Title\n\n## Part\n\nText of it.\n", site=Site.MDBOOK)
    assert page_links(page)[:2] == ["#title", "#part"]


def test_a_figure_is_reached_by_its_own_id() -> None:
    page = read_text("Text.\n\n![Alt](x.png){: #fig-1}\n")
    assert page_links(page)[1] == "#fig-1"


@pytest.mark.parametrize("name", sorted(path.name for path in BOOKS.iterdir() if path.is_dir()))
def test_every_quote_is_clean_and_unique_in_its_page(name: str) -> None:
    for page in read_folder(BOOKS / name).documents:
        for block, link in zip(page.blocks, page_links(page), strict=True):
            text, suffix = directive(link)
            assert link.startswith((block.url, page.url))
            if block.kind is BlockKind.HEADING:
                assert link == block.url
            if text:
                assert any(text in run for run in clean_runs(block))
                assert occurrences(words(f"{text} {suffix}"), page) == 1
                assert not set(link.partition(":~:text=")[2].replace(",-", "")) & set("-,& ")


@pytest.mark.parametrize("pattern", ["the same ", "one two three {} "], ids=["equal", "alike"])
def test_a_long_page_is_linked_in_memory_in_proportion_to_its_words(pattern: str) -> None:
    number_of_words = 8_000
    paragraph = "".join(pattern.format(number) for number in range(50))
    repeats = number_of_words // len(paragraph.split())
    page = read_text("\n\n".join([paragraph] * repeats))
    tracemalloc.start()
    try:
        page_links(page)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * number_of_words


@given(st.text("aB1_'-., "))
def test_ascii_text_has_the_same_words_beside_other_text(text: str) -> None:
    """Its words are found by a faster pattern."""
    assert [*folded_words(text), "e"] == folded_words(f"{text} \u00e9")
