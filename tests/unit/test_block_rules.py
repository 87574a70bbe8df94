"""Asking only the block rules that a line may begin finds the blocks that asking all does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.adapters.markdown import read_text
from app.adapters.markdown.parser import file_reader
from app.domain.document import BlockKind, Site

KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "heading_open": BlockKind.HEADING,
    "table_open": BlockKind.TABLE,
}
LINES = (
    "word", "two words", "", "", "*em* x", "**bold**", "[a link](u)", "[r]", "[r]: http://x",
    "`code` x", "# Head", "#no", "- item", "-no", "+ plus", "* star", "1. one", "2. two",
    "10) ten", "1986 was", "> quote", ">", "===", "=", "---", "--", "- -", "-=-", "***", "_under_",
    "```", "~~~", "| a | b |", "|---|---|", "a | b", "--|--", ":-", "import x", "export",
)  # fmt: skip
TEXTS = st.lists(
    st.builds(
        str.__add__, st.sampled_from(["", "", "", "  ", "    ", "> ", "- "]), st.sampled_from(LINES)
    ),
    min_size=1,
    max_size=9,
).map("\n".join)


def by_markdown_it(text: str) -> Iterator[tuple[BlockKind, str]]:
    """Yield the kind and the source of the paragraphs, headings and tables of the top level."""
    lines = text.split("\n")
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.level == 0 and token.type in KINDS and token.map is not None:
            yield KINDS[token.type], " ".join(" ".join(lines[slice(*token.map)]).split())


@settings(max_examples=300, deadline=None)
@given(TEXTS)
@example("two\nlines\n===\nword")
@example("**bold**\n- item\n---\nword\n---")
def test_blocks_are_those_of_markdown_it(text: str) -> None:
    found = [
        (block.kind, " ".join(text[block.start : block.end].split()))
        for block in read_text(text, site=Site.MDBOOK).blocks
        if block.kind in KINDS.values()
    ]
    assert found == list(by_markdown_it(text))


def test_a_heading_of_two_lines_is_one_inside_a_quote() -> None:
    (block,) = read_text("> foo\n> bar\n> ---").blocks
    assert block.text == "foo bar"


@pytest.mark.parametrize("words", ["Do this.", "*Do* this.", "[Do](u) this."])
def test_a_quote_says_where_its_text_begins(words: str) -> None:
    """Whatever character that is, the quote's marker is no part of it."""
    text = f"> {words}\n"
    (block,) = read_text(text).blocks
    assert [text[part.start : part.end] for part in block.parts] == [words]


def test_a_long_file_is_read_as_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By sections, and its link targets before the links."""
    book = Path(__file__).parents[2] / "app" / "sample_book" / "docs"
    pages = [path.read_text("utf-8") for path in sorted(book.rglob("*.md*"))]
    text = "See [the end][end].\n\n" + "\n\n".join(pages) + "\n\n[end]: https://example.org\n"
    expected = read_text(text, site=Site.DOCUSAURUS, file="p.mdx")
    assert len(expected.blocks) > 100
    monkeypatch.setattr(file_reader, "_LONG", 0)
    monkeypatch.setattr(file_reader, "_SECTION_TOKENS", 20)
    assert read_text(text, site=Site.DOCUSAURUS, file="p.mdx") == expected
    assert expected.blocks[0].text == "See the end."


@pytest.mark.parametrize("more", ["", "  which burns\n", ": A cord\n"])
@pytest.mark.parametrize("site", [Site.MKDOCS, Site.MYST, Site.PLAIN])
def test_a_line_of_dashes_behind_a_definition_makes_no_heading(site: Site, more: str) -> None:
    blocks = read_text(f"Wick\n: A string\n{more}---\n\nText.\n", site=site).blocks
    assert [block.kind for block in blocks] == [BlockKind.GLOSSARY_ENTRY, BlockKind.PARAGRAPH]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<h3>Wick</h3>\nIt *burns*.\nSlowly.", ["Wick", "It burns. Slowly."]),
        ("<h3>Wick</h3><p>It burns.</p>", ["Wick", "It burns."]),
        ('<h3 id="a">\n  Wick\n</h3>It burns.', ["Wick", "It burns."]),
        ("<p>One</p><p>Two</p>\nThree", ["One", "Two", "Three"]),
        ("<h3>1. Wick</h3>\nIt burns.", ["1. Wick", "It burns."]),
        ("<p># One</p><p> > Two </p>", ["# One", "> Two"]),
        ("<p>One <div>a</div> two", ["One a two"]),
    ],
)
def test_an_element_of_text_ends_at_its_closing_tag(source: str, texts: list[str]) -> None:
    for site in (Site.PLAIN, Site.DOCUSAURUS, Site.MKDOCS):
        blocks = read_text(f"# Lamps\n\n{source}\n", site=site).blocks[1:]
        assert [block.text for block in blocks] == texts
        if "h3" in source:
            assert blocks[0].kind is BlockKind.HEADING
            assert blocks[1].heading_path == ("Lamps", texts[0])
            assert source[blocks[0].start - 9 : blocks[0].end - 9] == texts[0]


@pytest.mark.parametrize("site", [Site.PLAIN, Site.MDBOOK, Site.MKDOCS, Site.MYST])
def test_an_indented_line_below_a_tag_is_no_code(site: Site) -> None:
    source = (
        '<figure>\n    <img src="a.png" alt="A map"/>\n    <p>Words.</p>\n</figure>\n\n    code'
    )
    blocks = read_text(source, site=site).blocks
    assert [(block.kind, block.text) for block in blocks] == [
        (BlockKind.FIGURE, "A map\n\nWords."),
        (BlockKind.CODE, "code"),
    ]


@pytest.mark.parametrize("site", [Site.MDBOOK, Site.MYST])
def test_a_formula_may_begin_where_another_ends(site: Site) -> None:
    blocks = read_text("$$\na\n$$$$\nb\n$$\n\nText.\n\n$$ c $$ $$ d $$", site=site).blocks
    texts = ["$$\na\n$$", "$$\nb\n$$", "Text.", "$$ c $$", "$$ d $$"]
    assert [block.text for block in blocks] == texts


@pytest.mark.parametrize("site", [Site.DOCUSAURUS, Site.PLAIN, Site.MKDOCS])
def test_the_last_line_of_a_tag_begins_no_quote(site: Site) -> None:
    text = '<div>\n<a\n  href="u"\n>\n  Read on.\n</a>\n</div>\n'
    blocks = read_text(text, site=site).blocks
    assert [(block.kind, block.text) for block in blocks] == [(BlockKind.PARAGRAPH, "Read on.")]
