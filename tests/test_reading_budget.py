"""What one file may hold, and what happens when it holds more: refused by name, never by time."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.book_settings import read_book_settings
from app.adapters.markdown import read_book, read_text
from app.adapters.markdown.yaml_source import load_yaml
from app.domain.document import Book, Site
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET, Budget

pytestmark = pytest.mark.attack("bombs")

MERGES = "".join(
    f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 9)}], k{at}: 1}}\n" for at in range(1, 9)
)
BOMB = f"a0: &a0 {{x: 1, y: 2}}\n{MERGES}"
"""Under 700 bytes that stand for 43 million values."""


def book(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("site", list(Site))
@pytest.mark.parametrize(
    "text",
    [
        ">" * 100_000,
        "> " * 100_000,
        "- " * 20_000 + "x",
        "1. " * 50_000,
        "> - " * 50_000,
        "".join(" " * (2 * at) + "- x\n" for at in range(2_000)),
        ">" * 101 + " x",
    ],
    ids=["quotes", "apart", "lists", "numbers", "both", "lines", "just too deep"],
)
def test_what_is_nested_too_deeply_is_refused_by_file_and_line(text: str, site: Site) -> None:
    with pytest.raises(
        FileRefused, match=r"^page\.md:\d+: nested over 100 levels deep: nest less$"
    ):
        read_text(f"# A\n\n{text}\n", site=site)


@pytest.mark.parametrize("text", ["[" * 100_000, "![" * 50_000, "*a " * 30_000, "`" * 100_000])
def test_what_is_never_closed_is_text(text: str) -> None:
    page = read_text(text)
    assert page.covered == page.nonblank


def test_what_is_not_too_deep_is_read() -> None:
    page = read_text("> " * 99 + "the innermost words")
    assert page.blocks[0].text == "the innermost words"
    page = read_text("- " * 49 + "the innermost words")
    assert "the innermost words" in page.blocks[0].text


@pytest.mark.parametrize("name", ["_toc_DOT_yml", "mkdocs_DOT_yml", "myst_DOT_yml"])
def test_a_merge_bomb_in_a_sites_settings_is_refused(name: str, tmp_path: Path) -> None:
    folder = book(tmp_path, **{name: BOMB, "index_DOT_md": "# A\n\nText.\n"})
    with pytest.raises(FileRefused, match=r"yml:\d+: over 100,000 YAML values"):
        read_book(folder, skip_refused=True)


def test_the_bomb_is_small() -> None:
    assert len(BOMB) < 700


@pytest.mark.parametrize("site", [Site.MYST, Site.PLAIN])
def test_a_merge_bomb_in_a_page_is_refused_with_the_page(site: Site) -> None:
    with pytest.raises(FileRefused, match=r"^page\.md:\d+: over 100,000 YAML values"):
        read_text(f"---\n{BOMB}---\n\n# A\n", site=site)


def test_a_merge_bomb_in_a_directives_options_is_refused() -> None:
    with pytest.raises(FileRefused, match=r"^page\.md:\d+: over 100,000 YAML values"):
        read_text(f"# A\n\n```{{note}}\n---\n{BOMB}---\nText.\n```\n", site=Site.MYST)


@pytest.mark.parametrize("text", ["a: " + "[" * 50_000, "- " * 50_000 + "a", "{a: " * 30_000])
def test_yaml_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(FileRefused, match=r"^f\.yml:1: lists and tables over 100 deep"):
        load_yaml(text, "f.yml")


def test_aliases_that_stand_for_little_are_read() -> None:
    loaded = load_yaml("a: &a [1, 2]\nb: {<<: {c: *a}, d: *a}\n", "f.yml")
    assert loaded == {"a": [1, 2], "b": {"c": [1, 2], "d": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 20_000, "too deep inside each other"),
        (".".join("a" * 20_000) + " = 1\n", "over 100 dots in one line"),
        ("#" * (BUDGET.settings + 1), "1,000,001 bytes, of 1,000,000 that one file may have"),
    ],
)
@pytest.mark.parametrize("name", ["rag.toml", "book.toml"])
def test_toml_beyond_the_budget_is_refused(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileRefused, match=f"^{name}:.*{message}"):
        read_book_settings(tmp_path) if name == "rag.toml" else read_book(tmp_path)


def test_json_that_is_too_deep_is_no_crash(tmp_path: Path) -> None:
    folder = book(
        tmp_path,
        site_DOT_json="[" * 100_000,
        versions_DOT_json="[" * 100_000,
        docs__a_DOT_md="# A\n",
    )
    assert len(read_book(folder).documents) == 1


def test_includes_that_multiply_are_refused(tmp_path: Path) -> None:
    files = {f"f{at}_DOT_md": f"{{{{#include f{at + 1}.md}}}}\n\n" * 9 for at in range(8)}
    files |= {"SUMMARY_DOT_md": "- [A](f0.md)\n", "book_DOT_toml": 'book.src = "."\n'}
    folder = book(tmp_path, f8_DOT_md="text\n", **files)
    with pytest.raises(FileRefused, match="included once too often"):
        read_book(folder)
    (folder / "f0.md").write_text("```\n" + "{{#include f1.md}}\n" * 9 + "```\n")
    with pytest.raises(FileRefused, match="included once too often"):
        read_book(folder)


def test_a_table_of_empty_cells_is_refused() -> None:
    wide = "|a" * 250 + "|\n" + "|-" * 250 + "|\n" + "|\n" * 250 + "\n"
    with pytest.raises(FileRefused, match="too much mark-up for its length"):
        read_text(wide * 6)


def too_large(folder: Path) -> Path:
    """A book of two pages, of which one has more bytes than a file may."""
    book(folder, a_DOT_md="# A\n\nText of a.\n", b_DOT_md="# B\n")
    with (folder / "b.md").open("r+b") as file:
        file.truncate(BUDGET.size + 1)
    return folder


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match=r"^b\.md: 64,000,001 bytes, of 64,000,000"):
        read_book(too_large(tmp_path))


def test_a_book_goes_on_without_a_refused_file_where_that_is_asked_for(tmp_path: Path) -> None:
    read = read_book(too_large(tmp_path), skip_refused=True)
    assert pages(read) == ["a.md"]
    assert [str(warning) for warning in read.warnings] == [
        "b.md: left out: 64,000,001 bytes, of 64,000,000 that one file may have: split it"
    ]


def test_a_refused_include_leaves_out_the_page_and_names_both(tmp_path: Path) -> None:
    folder = book(
        tmp_path,
        book_DOT_toml='book.src = "."\n',
        SUMMARY_DOT_md="- [A](a.md)\n- [B](b.md)\n",
        a_DOT_md="# A\n\nText.\n",
        b_DOT_md="# B\n\n{{#include c.md}}\n",
        c_DOT_md=">" * 1_000,
    )
    read = read_book(folder, skip_refused=True)
    assert pages(read) == ["a.md"]
    assert [warning.message for warning in read.warnings] == [
        "left out: c.md:1: nested over 100 levels deep: nest less"
    ]


def pages(read: Book) -> list[str]:
    return [document.file for document in read.documents]


def test_the_budget_lets_fifty_megabytes_through() -> None:
    assert Budget().size > 50_000_000


def test_the_same_lines_included_again_and_again_are_refused(tmp_path: Path) -> None:
    page = f"# A\n\n```{{literalinclude}} f.txt\n:lines: {'1-,' * 20_000}\n```\n"
    folder = book(tmp_path, _toc_DOT_yml="root: a\n", a_DOT_md=page, f_DOT_txt="line\n" * 2_000)
    with pytest.raises(FileRefused, match=r"^f\.txt: included once too often"):
        read_book(folder)
