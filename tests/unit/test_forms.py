"""Which questions ask for code, or for a list or table."""

from __future__ import annotations

import pytest

from app.domain.answering.question_analysis import asked_kinds
from app.domain.document import BlockKind
from app.domain.terms import words

KINDS = {
    "code": {BlockKind.CODE},
    "list": {BlockKind.LIST, BlockKind.TABLE},
    "any": set[BlockKind](),
}
ASKED = """
code: show me an example of a closure
code: match syntax?
code: Code for reading a file
code: what does a reducer look like in code
code: Zeig mir ein Beispiel für map
code: código para leer un archivo
code: exemple de fermeture
code: 给我一个闭包的例子
code: クロージャの例を見せて
any: What is code splitting?
any: what does an error code mean
any: how is source code organised
any: Explain the genetic code.
any: how do I encode a string
any: 例外とは何ですか
any: Why do owls hunt at night?
list: What are the rules of Redux?
list: which traits can be derived
list: advantages of BM25
list: Welche Arten von Eulen gibt es?
"""


@pytest.mark.parametrize("line", ASKED.strip().split("\n"))
def test_a_question_may_want_a_kind_of_block(line: str) -> None:
    kind, question = line.split(": ", 1)
    assert asked_kinds(words(question)) == KINDS[kind]
