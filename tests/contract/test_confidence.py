"""The three answers, over HTTP, as events and on the command line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from tests.command_line import Run, write_files
from tests.owl_server import ORIGIN, QUESTION, events_of
from tests.serving import connected, offline_settings

Json: TypeAlias = dict[str, Any]

FOREIGN = "Who won the 1998 football cup?"
NEAR = "How far can a snowy owl see at night?"
NOTICE = "The book may not say this. These passages come nearest.\n\n"


@pytest.fixture(scope="module")
def strict(owl_home: Path) -> Iterator[httpx.Client]:
    """A client of a server where every question of the book's domain is uncertain."""
    with connected(offline_settings(owl_home, answer_threshold=1.0)) as client:
        yield client


def asked(client: httpx.Client, question: str) -> Json:
    body: Json = client.post("/v1/chat", json={"question": question}).json()
    return body


def test_a_near_question_that_the_book_does_not_answer_is_uncertain(client: httpx.Client) -> None:
    assert asked(client, NEAR)["confidence"] == "uncertain"


@pytest.mark.parametrize(
    ("question", "confidence"),
    [
        ("What is the meaning of feathers?", "answered"),
        ("What does nocturnal mean?", "not_in_book"),
    ],
)
def test_words_that_ask_for_a_meaning_need_not_be_in_the_book(
    client: httpx.Client, question: str, confidence: str
) -> None:
    assert asked(client, question)["confidence"] == confidence


def test_the_notice_is_in_the_readers_language_and_names_the_books(strict: httpx.Client) -> None:
    body = asked(strict, "¿Por qué las plumas de un owl no hacen ruido durante el flight?")
    assert body["confidence"] == "uncertain"
    assert body["answer"].startswith("Puede que el libro no lo diga.")
    assert "(English)" in body["answer"].split("\n\n")[0]


def test_what_is_out_of_domain_gets_sections_and_no_passages(client: httpx.Client) -> None:
    body = asked(client, FOREIGN)
    assert (body["confidence"], body["refused"]) == ("not_in_book", True)
    assert (body["passages"], body["citations"]) == ([], [])
    assert body["sources"]
    assert all(source["url"].startswith(ORIGIN) for source in body["sources"])


def test_events_tell_the_confidence_first_and_the_notice_before_the_passages(
    client: httpx.Client, strict: httpx.Client
) -> None:
    for one, question, confidence in (
        (client, QUESTION, "answered"),
        (strict, QUESTION, "uncertain"),
        (client, FOREIGN, "not_in_book"),
    ):
        events = events_of(one.post("/v1/chat", json={"question": question, "stream": True}))
        assert events[0][1]["confidence"] == events[-1][1]["confidence"] == confidence
        text = "".join(data["text"] for name, data in events if name == "delta")
        assert text == events[-1][1]["answer"]
        assert text.startswith(NOTICE) is (confidence == "uncertain")


@pytest.mark.usefixtures("state")
def test_ask_prints_the_confidence(run: Run) -> None:
    for question, threshold, confidence in (
        (QUESTION, "0.8", "answered"),
        (QUESTION, "1", "uncertain"),
        (FOREIGN, "0.8", "not_in_book"),
    ):
        printed = run("ask", question, "--json", RAG_ANSWER_THRESHOLD=threshold).json()
        assert printed["confidence"] == confidence
        assert printed["refused"] is (confidence == "not_in_book")
        told = run("ask", question, RAG_ANSWER_THRESHOLD=threshold).out
        assert told.startswith(NOTICE) is (confidence == "uncertain")
        assert ("Nearest sections:" in told) is (confidence == "not_in_book")


def test_a_section_about_the_subject_comes_before_a_listing_that_quotes_the_question(
    sample_home: Path,
) -> None:
    with connected(offline_settings(sample_home)) as sample:
        body = asked(sample, "what does k1 do and what happens if I set it to zero?")
    assert body["citations"][0]["heading_path"][-1] == "What k1 does"
    assert "only presence counts" in body["answer"]


# --- Chinese and Japanese: what is asked for counts, not "what is" around it

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
UNSPACED = [
    ("ja", "クロージャーとは何ですか？", "クロージャー"),
    ("ja", "配列について教えてください", "配列"),
    ("zh", "什么是闭包？", "闭包"),
    ("zh", "请问数组是什么意思呢", "数组"),
]


def test_of_unspaced_questions_the_section_of_that_name_is_first(run: Run, tmp_path: Path) -> None:
    for language, pages in BOOKS.items():
        assert run("ingest", write_files(tmp_path / language, pages)).code == 0
    for book, question, section in UNSPACED:
        hits = run("search", question, "--book", book, "--json").json()["hits"]
        assert hits[0]["section"] == section
        answer = run("ask", question, "--book", book, "--json").json()
        assert answer["passages"][0]["heading_path"] == [section]
    # Words of a question alone are no reason to answer.
    assert run("ask", "请问什么是红烧肉？", "--book", "zh", "--json").json()["refused"]


def test_what_is_asked_for_may_be_named_by_the_heading_alone(run: Run, tmp_path: Path) -> None:
    """A reference documents many small functions, which share a chunk."""
    told = {"isOwl": "Returns true for a bird that hunts.", "hasEars": "Returns the tufts."}
    sections = "".join(f"## `{name}`\n\n{text}\n\n" for name, text in told.items())
    write_files(tmp_path / "owls", {"utils.md": f"# Utilities\n\nFor reuse.\n\n{sections}"})
    assert run("ingest", tmp_path / "owls", "--json").code == 0
    for name, text in told.items():
        body = run("ask", f"what is {name}", "--json").json()
        assert body["answer"].endswith(text)


def test_an_operator_is_asked_for_by_its_symbol(run: Run, tmp_path: Path) -> None:
    """Of a long table the rows around the one that answers are shown."""
    signs = ("+=", "-=", "..=", "<<", "&&", "==", "!=", "->", "=>")
    rows = "".join(
        f"| `{one}` | operator of owls | meaning {at} |\n" for at, one in enumerate(signs * 4)
    )
    table = f"| Operator | Use | Meaning |\n|---|---|---|\n{rows}| `%%` | owl | sense of wonder |\n"
    write_files(tmp_path / "owls", {"operators.md": f"# Operators\n\nOf owls.\n\n{table}"})
    assert run("ingest", tmp_path / "owls", "--json").code == 0
    answer = run("ask", "what does the %% operator mean?", "--json").json()["answer"]
    assert "sense of wonder" in answer
