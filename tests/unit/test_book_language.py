"""The language of a book: what its site says, else what its words say."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.reading.book import read_book, read_text
from app.domain.document import Site
from app.domain.languages import guess_language

SPANISH = "# Uno\n\nLas plantas hacen azúcar de la luz que les llega, y de lo que hay en el aire.\n"
ENGLISH = "# One\n\nThe plants make sugar of the light that they get, and of what is in the air.\n"
CODE = "# X\n\n```py\nla = el + los\nque = de + la + en\n```\n"
LINES = {
    Site.MDBOOK: ("book.toml", "src/a.md", "[book]\n{}", 'language = "de-CH"'),
    Site.MKDOCS: ("mkdocs.yml", "docs/a.md", "site_name: x\n{}", "theme: {language: de}"),
}  # fmt: skip


def language_of(folder: Path) -> set[str]:
    book = read_book(folder)
    return {book.language, *(page.language for page in book.documents)}


@pytest.mark.parametrize("site", LINES)
@pytest.mark.parametrize("declared", [False, True])
def test_what_the_site_says_counts_and_else_its_words(
    site: Site, declared: bool, tmp_path: Path
) -> None:
    config, page, text, line = LINES[site]
    for file, content in {
        config: text.format(line if declared else ""),
        page: SPANISH,
        "src/SUMMARY.md": "- [Uno](a.md)",
    }.items():
        if site is Site.MDBOOK or file != "src/SUMMARY.md":
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(content, encoding="utf-8")
    assert language_of(tmp_path) == {"de" if declared else "es"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SPANISH, "es"),
        (ENGLISH, "en"),
        (CODE, "en"),
        (ENGLISH + ENGLISH + SPANISH, "en"),
        ("# 一\n\n植物利用光把水和二氧化碳变成糖。API 很有用。\n", "zh"),
        ("# 一\n\n植物は光を使って水と二酸化炭素から糖を作る。\n", "ja"),
        ("# 하나\n\n식물은 빛으로 당을 만든다.\n", "ko"),
        ("# Один\n\nРастения делают сахар из света, и API это знает.\n", "ru"),
        ("# Ένα\n\nΤα φυτά φτιάχνουν ζάχαρη από το φως.\n", "el"),
        ("# واحد\n\nالنباتات تصنع السكر من الضوء والماء.\n", "ar"),
        ("# ایک\n\nپودے روشنی سے شکر بناتے ہیں اور یہ پانی میں ہے۔\n", "ur"),
        ("# एक\n\nपौधे प्रकाश से शर्करा बनाते हैं।\n", "hi"),
        ("# 1\n\n1 + 1 = 2.\n", "en"),
    ],
)
def test_prose_tells_the_language_and_code_does_not(text: str, language: str) -> None:
    assert read_text(text).language == language


def test_the_language_of_a_template_gives_way_to_that_of_the_prose(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "book.toml").write_text("[book]\nlanguage = 'en'\n", encoding="utf-8")
    (tmp_path / "src/SUMMARY.md").write_text("- [Uno](a.md)\n", encoding="utf-8")
    for text, language in ((SPANISH, "es"), (ENGLISH, "en")):
        (tmp_path / "src/a.md").write_text(text, encoding="utf-8")
        assert language_of(tmp_path) == {language}


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("verschil tussen let en const", "nl"),
        ("hoe lees ik een bestand in", "nl"),
        ("wat is een closure", "nl"),
        ("what is the difference between let and const", "en"),
        ("was ist der Unterschied zwischen let und const", "de"),
    ],
)
def test_questions_about_a_book_in_a_language_without_a_word_list(
    question: str, language: str
) -> None:
    assert guess_language(question, "nl") == language
