"""Questions about Chinese and Japanese books: what is asked for counts, not "what is" around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Run, write_files

# The first page has the words of many questions, the others have the answers.
BOOKS = {
    "ja": {
        "faq.md": "# 質問の例\n\n変数とは何ですか、どうやって書くのですか、と尋ねます。\n\n"
        "分からないことについて教えてください、と質問します。\n",
        "closure.md": "# クロージャー\n\nクロージャーは、定義の場所の変数を参照できます。\n",
        "array.md": "# 配列\n\n配列は、値を順番に並べた入れ物で、添字で要素を取り出します。\n",
    },
    "zh": {
        "faq.md": "# 常见问题\n\n什么是程序，程序是什么意思，怎么写程序，请问有哪些工具？\n\n"
        "如何提问也很重要，请问怎么问才好呢，可以介绍一下吗。\n",
        "closure.md": "# 闭包\n\n闭包能够记住定义时所在作用域的变量，即使外层已经结束。\n",
        "array.md": "# 数组\n\n数组把若干个值按次序排列，通过下标取出其中的成员。\n",
    },
}
QUESTIONS = [
    ("ja", "クロージャーとは何ですか？", "クロージャー"),
    ("ja", "配列について教えてください", "配列"),
    ("zh", "什么是闭包？", "闭包"),
    ("zh", "请问数组是什么意思呢", "数组"),
]


@pytest.fixture
def book(request: pytest.FixtureRequest, run: Run, tmp_path: Path) -> str:
    language: str = request.param
    assert run("ingest", write_files(tmp_path / language, BOOKS[language])).code == 0
    return language


@pytest.mark.parametrize(
    ("book", "question", "section"), QUESTIONS, indirect=["book"], ids=range(len(QUESTIONS))
)
def test_the_section_of_that_name_is_found_first(
    book: str, question: str, section: str, run: Run
) -> None:
    hits = run("search", question, "--book", book, "--json").json()["hits"]
    assert hits[0]["section"] == section
    answer = run("ask", question, "--book", book, "--json").json()
    assert answer["passages"][0]["heading_path"] == [section]


@pytest.mark.parametrize("book", ["zh"], indirect=True)
def test_words_of_a_question_alone_are_no_reason_to_answer(book: str, run: Run) -> None:
    assert run("ask", "请问什么是红烧肉？", "--book", book, "--json").json()["refused"]
