"""What form of text a question asks for: a list or table, code, a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile, takewhile

from app.domain.document import BlockKind
from app.domain.languages import LANGUAGES
from app.domain.retrieval.definition_terms import COMPARISON_WORDS

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


_IDENTIFIER = re.compile(
    r"[A-Za-z]+[a-z0-9][A-Z]\w*|\w*[^\W\d_]_\w+|\w+(?:\.\w+)*(?=\(\))|[a-z]\w*(?:(?:\.|::)[A-Za-z]\w+)+"
)
"""A name of a program: camelCase, snake_case, `call()`, `path.to::it`."""


def identifiers(question: str) -> list[str]:
    """Return the names of a program in the question."""
    return _IDENTIFIER.findall(question)


_JOINTS = frozenset("vs versus or oder o ou".split())
"""Words between two things to choose from or to compare."""
_JOINTS_OF_COMPARISONS = frozenset("and with to than from und mit von y e et con de".split())
"""Words that are joints in a question with a word that asks for a comparison."""
_LONGEST_SIDE = 4
"""Words of one of the compared things."""
_CLAUSE_END = re.compile(r"(?<!\bvs)[,.;:?!]+(?:\s+|$)")


def compared(question: str, language: str) -> list[str]:
    """Return the things that the question compares, such as "RAID-0" and "RAID-1"; [] if none."""
    words = COMPARISON_WORDS.get(language, "").split()
    asked = not set(question.lower().split()).isdisjoint(words)
    for clause in _CLAUSE_END.split(question):
        said = clause.split()
        joints = [at for at, word in enumerate(said) if word.lower().rstrip(".") in _JOINTS]
        if asked and not joints:
            joints = [at for at, word in enumerate(said) if word.lower() in _JOINTS_OF_COMPARISONS]
        sides = [_side_before(said, at, language) for at in joints[:1]]
        sides += [_side_after(said, at, language) for at in joints]
        if len(found := [side for side in sides if side]) > 1:
            size = len(
                found[0].split()
            )  # "ABORT or FAIL conflict resolution": its words are shared
            return [" ".join(side.split()[:size]) for side in found]
    return []


def _side_before(said: Sequence[str], joint: int, language: str) -> str:
    return " ".join(reversed(_content(reversed(said[:joint]), language)))


def _side_after(said: Sequence[str], joint: int, language: str) -> str:
    return " ".join(_content(said[joint + 1 :], language))


def _content(said: Iterable[str], language: str) -> list[str]:
    """Return the first words up to a stop word, without stop words before them."""
    stop = LANGUAGES[language].stop_words if language in LANGUAGES else frozenset[str]()
    frame = COMPARISON_WORDS.get(language, "").split()

    def is_stop(word: str) -> bool:
        plain = word.lower().rstrip(".")
        return plain in stop or plain in frame or plain in _JOINTS

    return list(takewhile(lambda word: not is_stop(word), dropwhile(is_stop, said)))[:_LONGEST_SIDE]
