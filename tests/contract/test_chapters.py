"""Summaries, exercises by number and quizzes, over HTTP and on the command line."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.command_line import Run, write_files
from tests.owl_server import ORIGIN
from tests.serving import ScriptedGenerator, connected, ingested, offline_settings

SAMPLE = "small-book-of-search"
PAGES = f"/pages/{SAMPLE}"
CHAPTER_4 = "Weights combine how often a term occurs here"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, sample_home: Path) -> Path:
    """The state folder of the sample book and of one without numbers, summary or exercises."""
    folder = tmp_path_factory.mktemp("library")
    home = Path(shutil.copytree(sample_home, folder / "rag"))
    page = (
        "# Owls\n\nOwls hunt at night. They sleep by day.\n\n"
        "## 1.2 Flight\n\nA fringe makes it silent. A talon grips.\n\n"
        "## Glossary\n\nFringe\n: Threads at an edge.\n\nTalon\n: A claw.\n"
    )
    owls = write_files(folder / "owls", {"owls.md": page})
    return ingested(home, owls, base_url=ORIGIN).home


@pytest.fixture(scope="module")
def chat(library: Path) -> Iterator[httpx.Client]:
    with connected(offline_settings(library)) as http:
        yield http


def ask(chat: httpx.Client, question: str, book: str = SAMPLE, **more: object) -> dict[str, Any]:
    reply = chat.post("/v1/chat", json={"question": question, "book": book, **more})
    assert reply.status_code == httpx.codes.OK, reply.text
    body: dict[str, Any] = reply.json()
    return body


@pytest.mark.parametrize(
    ("question", "page_url"),
    [
        ("summarise chapter 4", ""),
        ("what is this chapter about?", f"{PAGES}/04-ranking.html"),
        ("Fasse Kapitel 4 zusammen", ""),
        ("summarise", f"{PAGES}/04-ranking.html"),
    ],
)
def test_a_chapter_is_summarised_in_its_own_words(
    chat: httpx.Client, question: str, page_url: str
) -> None:
    body = ask(chat, question, page_url=page_url)
    assert (body["mode"], body["refused"]) == ("extractive", False)
    assert body["answer"].startswith(CHAPTER_4)
    (passage,) = body["passages"]
    assert passage["heading_path"] == ["4. Ranking with Words", "Summary"]
    assert (passage["text"], passage["marks"]) == (body["answer"], [])
    assert [one["quote"] for one in body["citations"]] == [body["answer"]]
    assert body["citations"][0]["permalink"].startswith("/cite/")


def test_a_section_is_shown_by_its_number_or_heading(chat: httpx.Client) -> None:
    for question in ("What is in section 1.2?", "flight"):
        body = ask(chat, question, "owls")
        assert [one["heading_path"] for one in body["passages"]] == [["Owls", "1.2 Flight"]]
        assert body["answer"].endswith("A fringe makes it silent. A talon grips.")
    for other in ("1.1", "1.3"):
        assert not ask(chat, f"What is in section {other}?", "owls")["answer"].endswith("grips.")
    # The sample book has no numbers below its chapters.
    placed = ask(chat, "What is in section 4.2?")
    assert {one["heading_path"][1] for one in placed["passages"]} == {"The vector space model"}


def test_who_asks_for_more_is_not_told_the_same_again(chat: httpx.Client) -> None:
    asked = "What is BM25?"
    told = ask(chat, asked)["answer"]
    history = [{"role": "user", "content": asked}, {"role": "assistant", "content": told}]
    for question, again in (("tell me more", False), ("what does BM25 weight?", True)):
        shown = ask(chat, question, history=history)["passages"][0]["text"]
        assert (shown.splitlines()[0] in told) is again


def test_a_part_is_named_by_its_title(chat: httpx.Client) -> None:
    for question in ("Please summarise ranking with words", "summarise the chapter on ranking"):
        assert ask(chat, question)["answer"].startswith(CHAPTER_4)
    assert "A friend says" in ask(chat, "quiz me on why search")["answer"]
    assert "document frequency" in ask(chat, "summarise inverse document frequency")["answer"]


@pytest.mark.parametrize(
    ("asked", "heading"),
    [
        ({"kind": "summary", "chapter": 4}, "Summary"),
        ({"kind": "summary", "chapter": "this"}, "Summary"),
        ({"kind": "quiz"}, "Exercise 4.1"),
    ],
)
def test_a_button_asks_in_any_words(
    chat: httpx.Client, asked: dict[str, object], heading: str
) -> None:
    page_url = "" if asked.get("chapter") == 4 else f"{PAGES}/04-ranking.html"
    body = ask(chat, "یہ باب کس بارے میں ہے؟", request=asked, page_url=page_url)
    assert body["mode"] == "extractive"
    path = body["passages"][0]["heading_path"]
    assert (path[0], path[-1]) == ("4. Ranking with Words", heading)


def test_a_quiz_asks_the_chapters_exercises_without_their_solutions(chat: httpx.Client) -> None:
    body = ask(chat, "quiz me on chapter 1")
    asked = [one["heading_path"][-1] for one in body["passages"]]
    assert asked == ["Exercise 1.1", "Exercise 1.2", "Exercise 1.3"]
    assert "A friend says" in body["answer"]
    assert "ailing fruit tree" not in str(body)  # the solution of 1.1


def test_a_quiz_without_exercises_asks_what_the_sections_answer(chat: httpx.Client) -> None:
    body = ask(chat, "quiz me on this page", "owls", page_url=f"{ORIGIN}/owls")
    asked = ['What does "Fringe" mean?', 'What does "Talon" mean?']
    assert (body["mode"], body["answer"].split("\n\n")) == ("extractive", asked)
    assert [one["text"] for one in body["passages"]] == asked
    assert body["passages"][0]["url"].startswith(f"{ORIGIN}/owls")
    assert "Threads" not in body["answer"]


@pytest.mark.parametrize("question", ["solve exercise 4.2", "exercise 2 of chapter 4"])
def test_an_exercise_is_known_by_its_number(chat: httpx.Client, question: str) -> None:
    hint = ask(chat, question, solutions="hint")
    assert hint["exercise"]
    assert "Stuffing" not in str(hint["passages"])
    hidden = ask(chat, question, solutions="hide")
    assert hidden["answer"].startswith("This is an exercise of the book.")
    # The sample book has this solution on a page of its own.
    shown = ask(chat, question, solutions="show")
    assert "Stuffing a page with a word gains little" in shown["answer"]
    assert shown["passages"][0]["heading_path"][-1] == "Solution 4.2"


ENGLISH = "Which chapter do you mean? The book has: 1. Why Search?; 2."
GERMAN = "Welches Kapitel meinen Sie? Das Buch hat: 1. Why Search?; 2."


@pytest.mark.parametrize(
    ("question", "more", "text"),
    [
        ("summarise chapter 77", {}, ENGLISH),
        ("what is this chapter about?", {}, ENGLISH),
        ("quiz me", {}, ENGLISH),
        ("Worum geht es in diesem Kapitel?", {"request": {"kind": "quiz"}}, GERMAN),
        ("Löse Übung 4.9", {}, "Solche Übungen finde ich dort nicht."),
    ],
)
def test_what_the_book_does_not_have_is_asked_back_for(
    chat: httpx.Client, question: str, more: dict[str, Any], text: str
) -> None:
    body = ask(chat, question, **more)
    assert (body["mode"], body["refused"], body["passages"]) == ("clarification", False, [])
    assert body["answer"].startswith(text)
    if body["sources"]:
        assert body["sources"][3]["title"] == "4. Ranking with Words"
        assert body["sources"][3]["url"].startswith(f"{PAGES}/04-ranking.html")


def test_of_several_books_one_must_be_named(chat: httpx.Client) -> None:
    body = chat.post("/v1/chat", json={"question": "summarise chapter 1"}).json()
    assert body["mode"] == "clarification"
    assert body["answer"] == "Which book do you mean? There are: Owls; A Small Book of Search."
    turns = [{"role": "user", "content": "summarise chapter 1"}]
    turns += [{"role": "assistant", "content": body["answer"]}]
    for asked in (
        {"question": "A small book of search", "history": turns},
        {"question": "what is in chapter 1 of a small book of search?"},
    ):
        shown = chat.post("/v1/chat", json=asked).json()["passages"]
        assert {one["url"].partition("#")[0] for one in shown} == {f"{PAGES}/01-why-search.html"}


def test_nothing_beyond_the_scope_is_summarised(chat: httpx.Client) -> None:
    def mode(question: str) -> str:
        body = ask(chat, question, scope="so_far", page_url=f"{PAGES}/01-why-search.html")
        return str(body["mode"])

    assert mode("summarise chapter 4") == "clarification"
    assert mode("summarise chapter 1") == "extractive"


def test_a_question_about_a_selection_is_an_ordinary_one(chat: httpx.Client) -> None:
    selection = {"text": "BM25 adds saturation"}
    body = ask(chat, "summarise chapter 77", selection=selection)
    assert body["mode"] != "clarification"


def test_a_model_summarises_from_the_same_paragraphs_but_writes_no_quiz(library: Path) -> None:
    generator = ScriptedGenerator()
    generator.play("Weights combine how often a term occurs.")
    settings = offline_settings(library)
    with connected(settings, generator.open) as http:
        summary, quiz = ask(http, "summarise chapter 4"), ask(http, "quiz me on chapter 1")
    assert (summary["mode"], quiz["mode"]) == ("generated", "extractive")
    assert {one["title"] for one in summary["sources"]} == {"Summary"}


def test_a_question_which_chapter_lists_a_limited_number(run: Run, tmp_path: Path) -> None:
    pages = {f"{n:02}.md": f"# Owl {n}\n\nOwl {n} sleeps.\n" for n in range(1, 61)}
    run("ingest", write_files(tmp_path / "long", pages))
    printed = run("ask", "summarise chapter 99").out
    assert "Owl 40; ..." in printed
    assert "Owl 41" not in printed
    printed = run("ask", "summarise chapter 40").out
    assert printed.startswith("Owl 40 sleeps.\n\n  Owl 40\n  /pages/long/40.html")
    assert printed.count("Owl 40 sleeps.") == 1
