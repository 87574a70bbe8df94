"""The language of a book: what its site says, else what its words say."""

from pathlib import Path

import pytest

from tests.command_line import write_files
from tests.markdown_pages import read_folder, read_text
from tests.recorded_cases import case_lines

SPANISH = "# Uno\n\nLas plantas hacen azúcar de la luz que les llega, y de lo que hay en el aire.\n"
ENGLISH = "# One\n\nThe plants make sugar of the light that they get, and of what is in the air.\n"
CODE = "# X\n\n```py\nla = el + los\nque = de + la + en\n```\n"


def book(folder: Path, config: str, text: str) -> set[str]:
    """Return the languages of a book of one page, of mdBook if it has a `[book]`, and its page."""
    name = "book.toml" if config.startswith("[book]") else "mkdocs.yml"
    files = {name: config, "src/SUMMARY.md": "- [Uno](a.md)", "src/a.md": text, "docs/a.md": text}
    read = read_folder(write_files(folder, files))
    return {read.language, *(page.language for page in read.documents)}


@pytest.mark.parametrize(
    ("config", "text", "language"),
    [
        ("[book]\nlanguage = 'de-CH'\n", SPANISH, "de"),
        ("[book]\n", SPANISH, "es"),
        ("site_name: x\ntheme: {language: de}\n", SPANISH, "de"),
        ("site_name: x\n", SPANISH, "es"),
        ("[book]\nlanguage = 'en'\n", SPANISH, "es"),  # as the template has it
        ("[book]\nlanguage = 'en'\n", ENGLISH, "en"),
    ],
)
def test_what_the_site_says_counts_and_else_its_words(
    config: str, text: str, language: str, tmp_path: Path
) -> None:
    assert book(tmp_path, config, text) == {language}


def test_pages_of_a_folder_of_translations_have_their_own_languages(tmp_path: Path) -> None:
    short = "# Beispiel\n\nDer Hund und die Katze sind in dem Haus.\n"
    chinese = "# 一\n\n" + "变量 let a 的值是 the object，它会被打印。\n" * 20
    files = {"a.md": ENGLISH * 5, "b.md": SPANISH * 5, "c.md": chinese, "d.md": short}
    read = read_folder(write_files(tmp_path, files | {"e.md": ENGLISH * 5}))
    assert [page.language for page in read.documents] == ["en", "es", "zh", "en", "en"]
    assert read.language == "en"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SPANISH, "es"),
        (ENGLISH, "en"),
        (CODE, "en"),
        ("# One\n\nLet y, y and d be in the plane, y = a and y = d.\n", "en"),
        (ENGLISH + ENGLISH + SPANISH, "en"),
        ("# 1\n\n1 + 1 = 2.\n", "en"),
        *case_lines("book_languages"),
    ],
)
def test_prose_tells_the_language_and_code_does_not(text: str, language: str) -> None:
    assert read_text(text).language == language
