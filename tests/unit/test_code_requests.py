"""Which questions ask to be shown code."""

from __future__ import annotations

import pytest

from app.domain.answering.code_requests import asks_for_code
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
    assert asks_for_code(words(question))


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
    assert not asks_for_code(words(question))
