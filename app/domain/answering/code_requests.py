"""Whether a question asks to be shown code: "an example of X", "code for X", "X syntax"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_REQUESTED = """
    examples? snippets? syntax
    beispiele? codebeispiele? quelltext
    ejemplos? sintaxis fragmento
    exemples? extrait syntaxe
    exemplos? sintaxe trecho
    esempio esempi sintassi frammento
"""
_CODE = "code|código|codice"
_AROUND_CODE = (
    rf"(?:in|as|some|me|me the|als|im|en|como|em|come) (?:{_CODE})",
    rf"(?:{_CODE}) (?:for|to|please|für|para|pour|per)",
)
"""The word "code" between others: alone it is often the subject ("error code")."""
_UNSPACED = "例子|示例|代码|の例|例を|コード|サンプル"
_REQUEST = re.compile(rf"\b(?:{'|'.join((*_REQUESTED.split(), *_AROUND_CODE))})\b|{_UNSPACED}")


def asks_for_code(said: Sequence[str]) -> bool:
    """Whether a question of these words, as returned by `words`, asks for an example or code."""
    return _REQUEST.search(" ".join(said)) is not None
