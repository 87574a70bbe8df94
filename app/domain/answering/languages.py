"""The language of a short text by its commonest words, and the set phrases in each."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.answering.terms import words

# Enough to tell a question's language; the index has stop words of its own.
_COMMON = {
    "en": "a an and are by did do does for from how in is of on that the to was what when where"
    " which who why with",
    "es": "al cuál cuándo cómo de del dónde el en es está la las los para por porque que qué quién"
    " se son un una y",
    "de": "bei das dem den der des die ein eine für ist im mit oder sind und von warum was welche"
    " welcher wer wie wird wo zu zur",
    "fr": "au aux comment d dans de des du est et l la le les ou où par pour pourquoi qu que quel"
    " quelle qui quoi sont sur un une",
    "pt": "ao as como da de do dos e em está na no o onde os para pela pelo por porque qual quando"
    " que quem são um uma é",
    "it": "che chi come con cosa cui da dei del della di dove e gli i il in la le nel per perché"
    " quale quali quando sono un una è",
    "ur": "اور اس ایک سے میں نے نہیں وہ پر کا کی کے کو کہ کیا کیوں کیسے کون کب کہاں ہیں ہے یہ",
}
_WORDS = {code: frozenset(common.split()) for code, common in _COMMON.items()}

_REFUSALS = {
    "en": "The book does not say. These sections come nearest to the question.",
    "es": "El libro no lo dice. Estas son las secciones más cercanas a la pregunta.",
    "de": "Das Buch sagt dazu nichts. Diese Abschnitte kommen der Frage am nächsten.",
    "fr": "Le livre n'en dit rien. Ces sections sont les plus proches de la question.",
    "pt": "O livro não o diz. Estas são as seções mais próximas da pergunta.",
    "it": "Il libro non lo dice. Queste sono le sezioni più vicine alla domanda.",
    "ur": "کتاب میں اس کا جواب نہیں ہے۔ یہ حصے سوال کے سب سے قریب ہیں۔",
}
_NOTHING_NEAR = {
    "en": "The book does not say.",
    "es": "El libro no lo dice.",
    "de": "Das Buch sagt dazu nichts.",
    "fr": "Le livre n'en dit rien.",
    "pt": "O livro não o diz.",
    "it": "Il libro non lo dice.",
    "ur": "کتاب میں اس کا جواب نہیں ہے۔",
}


def guess_language(text: str, default: str = "en") -> str:
    """The ISO 639-1 code of the language that most common words of `text` belong to.

    `default` unless another of seven languages has more of them.
    """
    found = list(words(text))
    best = max(_WORDS, key=lambda code: _count(found, code))
    return best if _count(found, best) > _count(found, default) else default


def refusal_text(question: str, sections: int) -> str:
    """The plain "the book does not say", in the question's language where that is known."""
    texts = _REFUSALS if sections else _NOTHING_NEAR
    return texts[guess_language(question)]


def _count(found: Sequence[str], language: str) -> int:
    return sum(word in _WORDS.get(language, frozenset()) for word in found)
