"""Folders that are read as plain files: the book's title, and warnings that name another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.markdown import read_book
from app.domain.document import Book, Site


def plain(folder: Path, *files: str) -> Book:
    """Read pages whose only text is a heading with their file's name."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(f"# {file}\n" if file.endswith(".md") else "")
    return read_book(folder)


@pytest.mark.parametrize(
    ("files", "title"),
    [
        (["CODE_OF_CONDUCT.md", "README.md", "a.md"], "README.md"),
        (["a.md", "b/index.md", "index.md"], "index.md"),
        (["a.md", "b/README.md"], "a.md"),
    ],
)
def test_a_book_without_contents_is_named_by_its_readme(
    files: list[str], title: str, tmp_path: Path
) -> None:
    assert plain(tmp_path, *files).title == title


def test_a_readme_without_a_title_names_no_book(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Text.\n")
    assert plain(tmp_path, "A.md").title == "A.md"


def test_a_table_of_contents_says_which_page_names_the_book(tmp_path: Path) -> None:
    (tmp_path / "SUMMARY.md").write_text("- [A](a.md)\n- [R](README.md)\n")
    assert plain(tmp_path, "README.md", "a.md").title == "a.md"


@pytest.mark.parametrize("folder", ["docs", "guide"])
def test_a_mdbook_without_a_summary_is_read_as_plain(folder: str, tmp_path: Path) -> None:
    book = plain(tmp_path, f"{folder}/book.toml", f"{folder}/src/a.md", "README.md")
    assert (book.site, len(book.documents)) == (Site.PLAIN, 2)
    [warning] = book.warnings
    assert str(warning).startswith(f"{folder}/book.toml:1: is not used: mdBook needs a SUMMARY.md")
    (tmp_path / folder / "src/SUMMARY.md").write_text("- [A](a.md)\n")
    assert read_book(tmp_path).site is Site.MDBOOK


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        (
            ["d/en/a.md", "d/en/b.md", "d/zh/a.md", "d/pt-BR/a.md", "d/js/x.md"],
            (
                "d/en: the same pages in 3 languages (en, pt-BR, zh) are read as one book: give the"
                " folder of one, such as d/en"
            ),
        ),
        (
            ["es/a.md", "ko/a.md"],
            (
                "es: the same pages in 2 languages (es, ko) are read as one book: give the folder"
                " of one, such as es"
            ),
        ),
        (["js/a.md", "ts/a.md"], ""),
        (["en/a.md", "en/b.md", "go/c.md", "a.md"], ""),
        (
            ["docs/.vitepress/config.mts", "docs/a.md", "README.md"],
            (
                "docs/.vitepress/config.mts:1: the site's pages are in docs: give that folder, or"
                " all files are read"
            ),
        ),
        ([".vitepress/config.ts", "a.md"], ""),
    ],
)
def test_a_folder_with_more_than_one_book_is_named(
    files: list[str], warning: str, tmp_path: Path
) -> None:
    found = plain(tmp_path, *files).warnings
    assert list(map(str, found)) == ([warning] if warning else [])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{% raw %}Write `{% if %}` around it.{% endraw %}", "Write {% if %} around it."),
        ("{% filename %}site/urls.py{% endfilename %}", "site/urls.py"),
        ("Write {% raw %}`{{ name }}`{% endraw %} here.", "Write {{ name }} here."),
        ("{{< hint >}}Trim the wick.{{< /hint >}}", "Trim the wick."),
        ('{% if a %} {% include b.html c="50%" %}', ""),
        ("{% comment %}To do: a picture.{% endcomment %}", ""),
        ("{{% notice %}}", ""),
    ],
)
def test_the_text_between_tags_of_a_template_is_read(line: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# A\n\n{line}\n")
    [page] = read_book(tmp_path).documents
    assert [block.text for block in page.blocks[1:]] == ([text] if text else [])


def test_an_include_of_gitbook_is_read_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "SUMMARY.md").write_text("- [A](a/a.md)\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/a.md").write_text(
        '# A\n\n{% include "./b.md" %}\n\n{% include "/c.md" %}\n\n{% include "d.md" %}\n'
    )
    (tmp_path / "a/b.md").write_text("Trim the wick.\n")
    (tmp_path / "c.md").write_text("Fill the lamp.\n")
    book = read_book(tmp_path)
    texts = [block.text for block in book.documents[0].blocks]
    assert texts == ["A", "Trim the wick.", "Fill the lamp."]
    assert [str(one) for one in book.warnings] == ["a/a.md:7: included file not found: d.md"]


@pytest.mark.parametrize(
    "target",
    [
        "{% link _lessons/wicks.md %}",
        "{{ site.baseurl }}/wicks/",
        '{{ "/wicks/" | relative_url }}',
        '{{< ref "wicks.md" >}}',
        "{{ page.root }}{% link wicks.md %}#trim",
    ],
)
@pytest.mark.parametrize(
    "text", ["See [the *wicks*]({}).", "See [the wicks][w].\n\n[w]: {}", "See ![the wicks]({})."]
)
def test_a_template_may_fill_the_target_of_a_link(text: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# A\n\n{text.replace('{}', target)}\n")
    book = read_book(tmp_path)
    assert [block.text for block in book.documents[0].blocks[1:]] == ["See the wicks."]
    assert not book.warnings
