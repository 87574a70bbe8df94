"""What form of text a question asks for: a list or table, code, a quantity."""

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
_QUANTITY_REQUESTS = (
    "how (?:long|much|many|big|large|small|old|far|fast|often|high|tall|deep|heavy|hot|cold|wide)",
    "when|(?:what|which) (?:year|century|date|age|number|size|temperature|percentage)",
    "wie (?:lange?|viele?|groß|alt|weit|schnell|oft|hoch|tief|schwer)|wann",
    "cuánt[oa]s?|cuándo|combien|quand|quant[oiae]s?|quando",
)
_QUANTITY = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|[mb]illion|half"
    r"|once|twice|dozen)\b",
    re.IGNORECASE,
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
_ASKS_QUANTITY = _any_of(_QUANTITY_REQUESTS)


def asked_kinds(said: Sequence[str]) -> frozenset[BlockKind]:
    """Return the kinds of block that a question of these words, as returned by `words`, wants.

    "Which types of X are there" wants a list or table, "an example of X" wants code. Empty for a
    question that any text may answer.
    """
    text = " ".join(said)
    return frozenset().union(*(kinds for kinds, asked in _ASKED_KINDS if asked.search(text)))


def asks_quantity(said: Sequence[str]) -> bool:
    """Whether a question of these words asks how much or when."""
    return _ASKS_QUANTITY.search(" ".join(said)) is not None


def has_quantity(text: str) -> bool:
    """Whether the text has a number, in figures or in words of English."""
    return _QUANTITY.search(text) is not None
