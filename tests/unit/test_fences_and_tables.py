"""Code and tables inside a larger block: Markdown in its text, whole wherever the text is cut."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.adapters.sentences import split_sentences
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.book_id import BookId
from app.domain.document import Block, BlockKind, Book, Site
from app.domain.fences_and_tables import whole_lines
from app.domain.glossary import glossary_terms
from app.domain.identity import keep_ids
from app.domain.ledger import Ledger
from app.domain.page_links import page_links
from tests.fake_world import context_of, passage, terms, unit_texts
from tests.markdown_pages import read_text

MARKDOWN = MarkdownIt("commonmark").enable("table")
CODE = "```sh\nmake\n```"
TABLE = "a | b\n--- | ---\n1 | 2"


def only(text: str, site: Site = Site.MKDOCS) -> Block:
    (block,) = read_text(text, site=site).blocks
    return block


def depths(text: str) -> list[int]:
    """Return in how many list items each fence and table is, as Markdown shows the text."""
    depth, found = 0, []
    for token in MARKDOWN.parse(text):
        depth += token.nesting if token.type.startswith("list_item") else 0
        if token.type in ("fence", "table_open"):
            found.append(depth)
    return found


@pytest.mark.parametrize("marker", ["-", "1.", "10."])
def test_code_and_tables_of_an_item_are_shown_inside_it(marker: str) -> None:
    """In Markdown, the lines of an item are indented as far as its text."""
    table = TABLE.replace("\n", "\n  ")
    inside = f"Do:\n\n{CODE}\n\n- in it:\n\n  {table}\n\nend"
    text = only(f"{marker} " + inside.replace("\n", "\n" + " " * (len(marker) + 1))).text
    assert depths(text) == [1, 2]
    assert MARKDOWN.render(text).count("<tr>") == 2


def test_ids_ledger_and_links_do_not_depend_on_fences() -> None:
    named = read_text("{#run}\n> ```sh\n> make\n> ```\n", site=Site.MYST)
    for document in (named, read_text("> Do:\n>\n> ```sh\n> make\n> ```\n")):
        book = Book(BookId("b"), "", Site.MYST, "", "en", "", (document,))
        _, ledger = keep_ids(book, Ledger())
        assert "sh" not in "".join(entry.text for entry in ledger.entries.values())
    twice = "> Run it now:\n>\n> ```sh\n> make all\n> ```\n\n"
    links = page_links(read_text(f"{twice}Then sleep.\n\n{twice}Then eat.\n"))
    assert links[0].endswith("make%20all,-Then%20sleep")


@given(st.lists(st.sampled_from(["- a", "  ```", "```sh", "````", "a | b", "--- | ---", "", "x"])))
def test_lines_with_frames_are_the_whole_text(lines: Sequence[str]) -> None:
    text = "\n".join(lines)
    assert "".join(whole_lines(text)) == text


def test_a_fence_or_a_table_is_one_unit() -> None:
    code = "```yaml\n- Owls hunt. Mice hide.\n\n- two\n```"
    found = unit_texts(
        passage(f"See it here:\n\n{code}\n\n{TABLE}\n\nThe end.", kind=BlockKind.ADMONITION)
    )
    assert found == ["See it here:", code, TABLE, "The end."]
    endless = "```sh\n" + "echo owl; sleep 1\n" * 40 + "```"
    assert unit_texts(passage(f"Do:\n\n{endless}", kind=BlockKind.QUOTE)) == ["Do:", endless]
    fence = code.replace("\n", "\n  ")
    assert unit_texts(passage(f"- One:\n  {fence}\n- Two.", kind=BlockKind.LIST)) == [
        f"One:\n  {fence}",
        "Two.",
    ]
    assert unit_texts(passage(f"{code}\n- Two.", kind=BlockKind.LIST)) == [code, "Two."]


def test_a_long_entry_is_not_quoted_from_inside_its_code() -> None:
    code = "```\nx = 1\n\nReturn the owl.\n\ny = 2\n```"
    prose = "An owl is a bird. " + "It hunts by night. " * 19 + "It hunts by night."
    entry = passage(f"{code}\n\n{prose}\n\n{TABLE}.", kind=BlockKind.GLOSSARY_ENTRY, terms=("owl",))
    found = unit_texts(entry)
    assert found[0] == "An owl is a bird."
    assert found[-1] == "It hunts by night."


def test_a_quote_does_not_end_inside_code() -> None:
    code = "```\nOwls sleep by day.\n\nThe owl hunts at night.\n\nMice hide.\n```"
    note = passage(f"Do this now.\n\n{code}", "p-note", BlockKind.ADMONITION)
    verifier = Verifier(by_paragraph(context_of(note)), terms, split_sentences)
    found = verifier.verify("the owl hunts at night", "p-note")
    assert found is not None
    assert found.text == code


def test_the_definition_of_a_term_is_plain_text() -> None:
    entry = passage(f"Word\n{CODE}\nEnd.", kind=BlockKind.GLOSSARY_ENTRY, terms=("Word",))
    assert [term.definition for term in glossary_terms(entry)] == ["make\nEnd."]


@pytest.mark.parametrize("separator", ["\x0c", "\x1c", "\u2028"])
def test_only_a_line_end_ends_a_line_of_a_fence(separator: str) -> None:
    code = f"```c\nint a;\n{separator}```\nint b;\n```"
    assert [*whole_lines(f"Do:\n{code}\nend")] == ["Do:\n", f"{code}\n", "end"]


@pytest.mark.parametrize(
    ("info", "language", "title"),
    [
        ('hl_lines="2 3"', "", ""),
        ('title="lamp.py" hl_lines="2"', "", "lamp.py"),
        ('python hl_lines="2" title="lamp.py"', "python", "lamp.py"),
        ('{.python title="lamp.py"}', "python", "lamp.py"),
    ],
)
def test_options_of_a_fence_are_no_language(info: str, language: str, title: str) -> None:
    *before, block = read_text(f"``` {info}\nx = 1\n```\n", site=Site.MKDOCS).blocks
    assert (block.text, block.language) == ("x = 1", language)
    assert [one.text for one in before] == ([f"{title}:"] if title else [])
