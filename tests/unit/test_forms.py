"""Which questions ask for code or for a list."""

from __future__ import annotations

import pytest

from app.domain.answering.question_analysis import asked_kinds
from app.domain.document import BlockKind
from app.domain.terms import words


@pytest.mark.parametrize(
    "question",
    [
        "show me an example of a closure",
        "match syntax?",
        "Code for reading a file",
        "what does a reducer look like in code",
        "Zeig mir ein Beispiel für map",
        "código para leer un archivo",
        "exemple de fermeture",
        "给我一个闭包的例子",
        "クロージャの例を見せて",
    ],
)
def test_an_example_or_code_is_asked_for(question: str) -> None:
    assert BlockKind.CODE in asked_kinds(words(question))


@pytest.mark.parametrize(
    "question",
    [
        "What is code splitting?",
        "what does an error code mean",
        "how is source code organised",
        "Explain the genetic code.",
        "how do I encode a string",
        "例外とは何ですか",
    ],
)
def test_code_is_the_subject_or_not_mentioned(question: str) -> None:
    assert BlockKind.CODE not in asked_kinds(words(question))


@pytest.mark.parametrize(
    ("question", "listed"),
    [
        ("What are the rules of Redux?", True),
        ("which traits can be derived", True),
        ("advantages of BM25", True),
        ("Welche Arten von Eulen gibt es?", True),
        ("Why do owls hunt at night?", False),
    ],
)
def test_a_list_or_table_is_asked_for(question: str, listed: bool) -> None:
    assert (BlockKind.LIST in asked_kinds(words(question))) == listed
