"""Small books of every site generator, read whole: each block as a reader sees it.

`fixtures/books/NAME/` is a book; `fixtures/books/NAME.jsonl` says what comes out: one line a
page, one a block, then warnings. After a change that is meant, write them anew with
`python -m tests.unit.test_parser` and read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.document import BlockKind, Book, Site
from tests.conftest import ROOT
from tests.markdown_pages import read_folder, read_identified, read_text
from tests.parser_invariants import assert_sound

BOOKS = ROOT / "tests/fixtures/books"
NAMES = sorted(path.name for path in BOOKS.iterdir() if path.is_dir())


def described(book: Book) -> Iterator[object]:
    """Yield what the book holds as values that fit a line of JSON."""
    yield {"book": book.title, "site": str(book.site), "base_url": book.base_url}
    for page in book.documents:
        yield {"page": page.file, "title": page.title, "chapter": page.chapter, "url": page.url}
        for block in page.blocks:
            facts = {
                "level": block.level,
                "language": block.language,
                "terms": list(block.terms),
                "author_id": block.author_id,
            }
            shown = {name: value for name, value in facts.items() if value}
            yield [block.kind.value, block.anchor, block.text, shown]
    for warning in book.warnings:
        yield str(warning)


@pytest.mark.parametrize("name", NAMES)
def test_a_book_comes_out_whole_and_as_its_reader_sees_it(name: str) -> None:
    lines = (BOOKS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    book = read_identified(BOOKS / name)
    assert list(described(book)) == [json.loads(line) for line in lines]
    assert book.coverage() > 0.8  # what the site's own plug-ins and components show is not read
    for page in book.documents:
        assert_sound(page)
    assert read_identified(BOOKS / name) == book
    ids = [block.paragraph_id for block in book.blocks()]
    assert len(ids) == len({*ids, ""}) - 1


def test_a_heading_path_runs_from_the_title_to_the_section() -> None:
    book = read_folder(BOOKS / "docusaurus")
    blocks = {block.text: block for block in book.blocks()}
    assert blocks["Set x"].heading_path == ("Introduction", "Choices", "Set x")
    assert blocks["First"].heading_path == ("First",)


def test_a_single_file_is_a_book(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\nOne paragraph.\n", encoding="utf-8")
    book = read_folder(path)
    assert (book.id, book.title) == ("note", "Note")
    assert [block.kind for block in book.blocks()] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def test_a_chapter_on_references_is_no_bibliography() -> None:
    prose = "A reference borrows a value.\n\nThe caller keeps it."
    works = "- [The Move paper](https://example.org/move-a-language-with-resources)"
    page = read_text(f"# References\n\n{prose}\n\n## Further Reading\n\n{works}\n")
    kinds = [block.kind for block in page.blocks if block.kind is not BlockKind.HEADING]
    assert kinds == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH, BlockKind.REFERENCE]


def test_a_theorem_is_one_block_with_its_title() -> None:
    source = "```{prf:theorem} Growth\n:label: growth\n\nIf so, then\n\n1. one\n2. two\n```\n"
    blocks = read_text(source, site=Site.MYST, file="page.md").blocks
    assert [block.kind for block in blocks] == [BlockKind.ADMONITION]
    assert blocks[0].text == "Growth\n\nIf so, then\n\n1. one\n2. two"


def test_a_title_is_rendered_without_the_footnotes_of_the_page() -> None:
    page = read_text("Owls[^1].\n\n::: note *Quiet*\nHush.\n:::\n\n[^1]: Barn owls.\n")
    assert [one.text for one in page.blocks] == ["Owls.", "Quiet\n\nHush.", "Barn owls."]
    page = read_text("::: note {{ x }}\nHush.\n:::\n", site=Site.MKDOCS)
    assert [one.text for one in page.blocks] == ["Hush."]


@pytest.mark.parametrize(
    ("site", "tab"),
    [
        (Site.MKDOCS, '=== "{}"\n\n    ```\n    {} owl\n    ```\n\n'),
        (Site.MYST, ":::{{tab-item}} {}\n```\n{} owl\n```\n:::\n"),
    ],
)
def test_labels_of_tabs_are_in_the_text(site: Site, tab: str) -> None:
    two = read_text(tab.format("Windows", "winget") + tab.format("Ubuntu", "apt"), site=site)
    assert [one.text for one in two.blocks] == ["Windows:", "winget owl", "Ubuntu:", "apt owl"]


@pytest.mark.parametrize(
    ("title", "kind"), [("Show Answer", BlockKind.SOLUTION), ("Task", BlockKind.EXERCISE)]
)
def test_a_question_block_may_hold_the_answer(title: str, kind: BlockKind) -> None:
    source = f'??? question "{title}"\n    It is **B**.\n'
    assert [one.kind for one in read_text(source, site=Site.MKDOCS).blocks] == [kind]


def main() -> None:
    for name in NAMES:
        lines = [
            json.dumps(line, ensure_ascii=False) for line in described(read_folder(BOOKS / name))
        ]
        (BOOKS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
