"""Directives and admonitions: their names, titles, options and content."""

from __future__ import annotations

import pytest

from app.adapters.markdown import read_text
from app.domain.document import Block, BlockKind, Site


def only_block(text: str, site: Site) -> Block:
    (block,) = read_text(text, site=site).blocks
    return block


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('~~~admonish note title="Why *this*?"\nIt **is**.\n~~~', "Why this?\n\nIt is."),
        ('~~~admonish tip title="Why `x`?"\nA.\n~~~', "Why x?\n\nA."),
        ("```admonish\nPlain.\n```", "Plain."),
        ("```admonish tip title='A \"b\"', collapsible=true\nC.\n```", 'A "b"\n\nC.'),
        ('```admonish title="T", type="warning"\nW.\n```', "T\n\nW."),
        ("~~~admonish info\n```sh\nls\n```\n\nEnd.\n~~~", "```sh\nls\n```\n\nEnd."),
    ],
)
def test_the_content_of_an_admonish_block_is_markdown(source: str, text: str) -> None:
    block = only_block(source, Site.MDBOOK)
    assert (block.kind, block.text) == (BlockKind.ADMONITION, text)


def test_the_id_of_an_admonish_block_is_its_own() -> None:
    assert only_block('```admonish note id="aside"\nA.\n```', Site.MDBOOK).author_id == "aside"


def test_the_text_after_an_admonish_block_is_no_part_of_it() -> None:
    blocks = read_text("~~~admonish\nA.\n~~~\nB.\n\n```rust\nC\n```", site=Site.MDBOOK).blocks
    assert [(block.kind.value, block.text) for block in blocks] == [
        ("admonition", "A."),
        ("paragraph", "B."),
        ("code", "C"),
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (":::{note .dropdown} A title\nB.\n:::", "A title\n\nB."),
        (':::{tip icon=false class="a b"}\nB.\n:::', "B."),
    ],
)
def test_a_directive_may_have_options_behind_its_name(source: str, text: str) -> None:
    block = only_block(source, Site.MYST)
    assert (block.kind, block.text) == (BlockKind.ADMONITION, text)


@pytest.mark.parametrize("name", ["prf:axiom", "proof:axiom"])
def test_a_proof_has_either_prefix(name: str) -> None:
    block = only_block(f":::{{{name}}} Choice\nA.\n:::", Site.MYST)
    assert (block.kind, block.text) == (BlockKind.ADMONITION, "Choice\n\nA.")


def test_a_definition_that_begins_with_a_colon_goes_on_to_an_empty_line() -> None:
    source = ":::{glossary}\nWick\n: It draws\nfuel.\n\nLamp\n: It burns.\n:::"
    blocks = read_text(source, site=Site.MYST).blocks
    assert [block.text for block in blocks] == ["Wick\nIt draws fuel.", "Lamp\nIt burns."]


def test_the_caption_of_an_embedded_page_is_read() -> None:
    source = "```{iframe} https://x.org/a\n:width: 100%\n\nThree bodies.\n```\n\n```{iframe} b\n```"
    block = only_block(source, Site.MYST)
    assert (block.kind, block.text) == (BlockKind.FIGURE, "Three bodies.")


def test_a_label_behind_the_name_of_a_directive_is_its_id() -> None:
    assert only_block(":::{note #aside}\nB.\n:::", Site.MYST).author_id == "aside"


def test_a_role_may_have_options_behind_its_name() -> None:
    assert only_block('See {math typst="sqrt"}`x^2` here.', Site.MYST).text == "See $x^2$ here."


@pytest.mark.parametrize(
    ("source", "site"),
    [
        ('??? done "Answer"\n    A.', Site.MKDOCS),
        ("/// details | Answer\n    type: done\n\nA.\n///", Site.MKDOCS),
        ('!!! own-type "Answer"\n    A.', Site.MKDOCS),
        ('```admonish own-type title="Answer"\nA.\n```', Site.MDBOOK),
    ],
)
def test_an_admonition_may_have_any_type(source: str, site: Site) -> None:
    block = only_block(source, site)
    assert (block.kind, block.text) == (BlockKind.SOLUTION, "Answer\n\nA.")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Press [the *right* key]{#key}.", "Press the right key."),
        ("A [word]{ .small .loud } more.", "A word more."),
        ("An array: x[1]{n}.", "An array: x[1]{n}."),
        ("[key]{.x} is a link.\n\n[key]: https://k.example", "key is a link."),
    ],
)
def test_the_brackets_of_a_span_with_attributes_are_not_shown(source: str, text: str) -> None:
    assert only_block(source, Site.PLAIN).text == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A [link](b.md){ data-preview } here.", "A link here."),
        ("Not searched.\n{ data-search-exclude }", "Not searched."),
        ("In `code`{ nothing } else.", "In code{ nothing } else."),
    ],
)
def test_a_data_attribute_needs_no_value(source: str, text: str) -> None:
    assert only_block(source, Site.MKDOCS).text == text
