"""What form of text a question asks for: a list or table, or code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.domain.document import BlockKind

_CODE = "code|código|codice"
_CODE_REQUESTS = (
    "examples?|snippets?|syntax|beispiele?|codebeispiele?|quelltext|ejemplos?|sintaxis|fragmento",
    "exemples?|extrait|syntaxe|exemplos?|sintaxe|trecho|esempio|esempi|sintassi|frammento",
    rf"(?:in|as|some|me|me the|als|im|en|como|em|come) (?:{_CODE})",
    rf"(?:{_CODE}) (?:for|to|please|für|para|pour|per)",
)
"""The word "code" counts only beside others: alone it is often the subject ("error code")."""
_UNSPACED_CODE = "例子|示例|代码|の例|例を|コード|サンプル"
_LIST_REQUESTS = (
    "which|what are|name the|all the|walk me|rules?|steps?|types?|kinds?|ways?|methods|options",
    "(?:dis)?advantages?|benefits?|drawbacks?|pros|cons|trade ?offs?|reasons?|causes|factors",
    "properties|features|principles?|stages?|phases?|parts?|components?|requirements?|guarantees?",
    "parameters?|arguments?|fields|list|checklist|procedure",
    "welche[rsn]?|regeln?|schritte?|arten|vorteile?|nachteile?|gründe|phasen|teile|eigenschaften",
    "cuáles|qué (?:tipos|pasos)|reglas?|pasos|tipos|ventajas|desventajas|razones|fases|partes",
    "quels|quelles|règles?|étapes|types|avantages|inconvénients|raisons|parties",
    "quais|regras?|passos|etapas|tipos|vantagens|desvantagens|razões|fases",
    "quali|regole?|passi|passaggi|tipi|vantaggi|svantaggi|ragioni|fasi|parti",
)


def _any_of(requests: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(requests)})\b")


_ASKED_KINDS = (
    (frozenset({BlockKind.LIST, BlockKind.TABLE}), _any_of(_LIST_REQUESTS)),
    (
        frozenset({BlockKind.CODE}),
        re.compile(f"{_any_of(_CODE_REQUESTS).pattern}|{_UNSPACED_CODE}"),
    ),
)


def asked_kinds(said: Sequence[str]) -> frozenset[BlockKind]:
    """Return the kinds of block that a question of these words, as returned by `words`, wants.

    "Which types of X are there" wants a list or table, "an example of X" wants code. Empty for a
    question that any text may answer.
    """
    text = " ".join(said)
    return frozenset().union(*(kinds for kinds, asked in _ASKED_KINDS if asked.search(text)))
