"""What is left of a question without the phrases around its subject."""

from dataclasses import replace

import pytest

from app.domain.languages import LANGUAGES, known_language
from app.domain.search_text import search_text, without_context
from tests.recorded_cases import case_lines

SLOW = "noch mal " * 30 + "Osmose"


@pytest.mark.parametrize(("asked", "kept"), [*case_lines("search_text"), (f"de: {SLOW}", SLOW)])
def test_phrases_around_the_subject_are_left_out(asked: str, kept: str) -> None:
    language, question = asked.split(": ", 1)
    assert search_text(question, language).text.split() == kept.split()


@pytest.mark.parametrize(("asked", "rest"), case_lines("reader_context"))
def test_sentences_about_the_reader_are_context_unless_they_may_name_the_subject(
    asked: str, rest: str
) -> None:
    language, question = asked.split(": ", 1)
    assert without_context(question, language) == rest


def test_a_language_may_have_phrases_of_one_sort_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, "xx", replace(known_language("xx"), filler="umm"))
    assert search_text("Umm, what, umm is osmosis? I ask, umm", "xx").text == (
        "what, is osmosis? I ask"
    )
    assert without_context("I ask. What is osmosis?", "xx") == "I ask. What is osmosis?"
