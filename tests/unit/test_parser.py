"""Small books of every site generator, read whole: each block as a reader sees it.

`fixtures/books/NAME/` is a book; `fixtures/books/NAME.jsonl` says what comes out: one line a
page, one a block, then warnings. `fixtures/markdown_blocks.txt` has cases: given are the kind of
the site and a page, read are its blocks, one a line. After a change that is meant, write both anew
with `python -m tests.unit.test_parser` and read the difference.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.document import BlockKind, Book, Site
from tests.command_line import write_files
from tests.conftest import ROOT
from tests.markdown_pages import assert_sound, read_folder, read_identified, read_text
from tests.recorded_cases import RecordedCases

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
                "image": block.figure.url if block.figure else "",
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


def test_a_title_above_text_is_not_a_heading_below_it() -> None:
    page = read_text("---\ntitle: Owls\n---\nThey see.\n\n# Ears\n\nThey hear.\n")
    assert [block.heading_path for block in page.blocks] == [
        ("Owls",),
        ("Owls", "Ears"),
        ("Owls", "Ears"),
    ]


def test_a_page_of_sections_without_a_title_is_named_by_its_file() -> None:
    page = read_text("## Ears\n\nThey hear.\n\n## Eyes\n", file="3. Barn owl.md")
    assert (page.title, page.blocks[0].heading_path) == ("3. Barn owl", ("3. Barn owl", "Ears"))


def test_a_repository_of_several_books_is_named_by_its_folder(tmp_path: Path) -> None:
    pages = {f"{one}/{name}.md": "# Owls\n" for one in ("de", "en") for name in ("owls", "SUMMARY")}
    folder = write_files(tmp_path / "night-birds", {**pages, "README.md": "## One\n\n## Two\n"})
    book = read_folder(folder)
    assert book.title == "night-birds"
    [warning] = book.warnings
    assert str(warning) == "de/ has SUMMARY.md, also 1 other folder: give one"


def test_pages_that_share_a_title_name_their_chapter(tmp_path: Path) -> None:
    pages = {
        f"{one}/{name}.md": f"# {name}\n" for one in ("Owls", "Bats") for name in (one, "Food")
    }
    summary = "".join(
        f"- [{one}]({one}/{one}.md)\n  - [Food]({one}/Food.md)\n" for one in ("Owls", "Bats")
    )
    blocks = read_folder(write_files(tmp_path, {**pages, "SUMMARY.md": summary})).blocks()
    titles = [block.heading_path[0] for block in blocks]
    assert titles == ["Owls", "Owls: Food", "Bats", "Bats: Food"]


def test_an_image_has_the_path_that_a_template_names() -> None:
    [owl] = read_text('![Owl]({{ "/owl.png" | relative_url }})').blocks
    assert owl.figure
    assert owl.figure.url == "/owl.png"


def test_a_single_file_is_a_book(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\nOne paragraph.\n", encoding="utf-8")
    book = read_folder(path)
    assert (book.id, book.title) == ("note", "Note")
    assert [block.kind for block in book.blocks()] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def read(_: Path, given: str) -> str:
    site, text = given.split("\n", 1)
    name, *suffix = site.split()
    file = f"page.{suffix[0] if suffix else 'md'}"
    blocks = read_text(f"{text}\n", site=Site(name), file=file).blocks
    return "\n".join(f"{one.kind.value}: {one.text}".replace("\n", "⏎") for one in blocks)


CASES = RecordedCases("markdown_blocks.txt", read)


@pytest.mark.parametrize(("page", "blocks"), CASES.parameters())
def test_markdown_becomes_blocks(page: str, blocks: str, tmp_path: Path) -> None:
    assert read(tmp_path, page) == blocks


@pytest.mark.parametrize(
    ("site", "tab"),
    [
        (Site.MKDOCS, '=== "{}"\n\n    ```\n    {} owl\n    ```\n\n'),
        (Site.MYST, ":::{{tab-item}} {}\n```\n{} owl\n```\n:::\n"),
    ],
)
def test_labels_of_tabs_are_in_the_text(site: Site, tab: str) -> None:
    two = read_text(tab.format("*Windows*", "winget") + tab.format("Ubuntu", "apt"), site=site)
    assert [one.text for one in two.blocks] == ["Windows:", "winget owl", "Ubuntu:", "apt owl"]


def main() -> None:
    CASES.write_anew()
    for name in NAMES:
        lines = [
            json.dumps(line, ensure_ascii=False) for line in described(read_folder(BOOKS / name))
        ]
        (BOOKS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
