"""The language of a short text by its commonest words, and the set phrases in each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from app.domain.answering.terms import words
from app.domain.retrieval.definitions import CARRIERS

# Enough to tell a question's language; the index has stop words of its own.
_COMMON = {
    "en": "a about after all an and any are as at be been between but by can could did do does for"
    " from had has have how i if in into is it its me my not of on one or should so than that the"
    " their them there these they this to use was we were what when where which who whose why will"
    " with without would you your",
    "es": "a al con cuál cuándo cuántos cómo de del dónde el en entre es está hay la las lo los más"
    " me para por porque puede puedo que qué quién se si sin sobre son su un una y hace hacen hago"
    " diferencia pasa ocurre cuánto cuántas",
    "de": "an auf bei das dem den der des die ein eine einen es für ich im in ist kann man mit"
    " nicht oder sich sind und von warum was welche welcher wenn wer wie wird wo zu zum zur macht"
    " machen mache gibt braucht unterschied bei beim viele wozu wofür dient dienen passiert"
    " geschieht",
    "fr": "au aux avec ce comment d dans de des du elle en entre est et il je l la le les ne on ou"
    " où par pas pour pourquoi qu quand que quel quelle qui quoi se sont sur un une fait faire"
    " différence font passe combien",
    "pt": "a ao as com como da das de do dos e ela ele em entre está eu na no o onde os para pela"
    " pelo por porque posso qual quando que quem se sem são um uma é faz fazem faço diferença"
    " acontece quantos quantas",
    "it": "a al che chi come con cosa cui da dei del della di dove e fra gli i il in la le lo nel"
    " nella per perché posso può quale quali quando si sono su tra un una è fa fanno faccio"
    " differenza succede quanti quante",
    "ur": "اور اس ایک سے میں نے نہیں وہ پر کا کی کے کو کہ کیا کیوں کیسے کون کب کہاں ہیں ہے یہ",
}
COMMON_WORDS = {code: frozenset(common.split()) for code, common in _COMMON.items()}

_OWN_NAMES = {
    "en": "English", "es": "español", "de": "Deutsch", "fr": "français", "pt": "português",
    "it": "italiano", "ur": "اردو",
}  # fmt: skip

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


_OTHER_LANGUAGE = {
    "en": "It is written in another language ({}); ask in that language to find more.",
    "es": "Está escrito en otro idioma ({}); pregunte en ese idioma para encontrar más.",
    "de": "Es ist in einer anderen Sprache geschrieben ({}); in ihr gefragt, findet sich mehr.",
    "fr": "Il est écrit dans une autre langue ({}) ; posez la question dans cette langue pour"
    " trouver plus.",
    "pt": "Está escrito em outra língua ({}); pergunte nessa língua para encontrar mais.",
    "it": "È scritto in un'altra lingua ({}); chieda in quella lingua per trovare di più.",
    "ur": "یہ کسی اور زبان ({}) میں لکھی گئی ہے؛ اسی زبان میں پوچھیں تو زیادہ ملے گا۔",
}


_KANA = re.compile("[\u3040-\u30ff]")
_SCRIPTS = {
    "zh": re.compile("[\u4e00-\u9fff\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
}
"""By the commonest language of each."""
_SOME = 0.1
"""Share of the characters that are kana in any Japanese text."""


def guess_language(text: str, default: str = "en") -> str:
    """The ISO 639-1 code of the language that most common words of `text` belong to.

    `default` unless another of seven languages has more of them.
    """
    found = list(words(text))
    best = max(COMMON_WORDS, key=lambda code: _count(found, code))
    return best if _count(found, best) > _count(found, default) else default


def language_of_text(text: str) -> str:
    """The language of a long text: one of seven by its words, else the commonest of its script, for
    Latin letters English.
    """
    told = guess_language(text)
    letters = sum(map(str.isalpha, text))
    for code, script in _SCRIPTS.items() if told == "en" else ():
        found = len(script.findall(text))
        if found > letters / 2:
            kana = len(_KANA.findall(text)) if code == "zh" else 0
            return "ja" if kana > _SOME * found else code
    return told


def refusal_text(question: str, sections: int, language: str = "en") -> str:
    """The plain "the book does not say", in the question's language where that is known, else in
    `language`, the book's.
    """
    texts = _REFUSALS if sections else _NOTHING_NEAR
    return texts.get(guess_language(question, language), texts["en"])


def other_language(question: str, language: str) -> str:
    """What to tell who asks in another language than that of the book; "" for all others."""
    asked_in = guess_language(question, language)
    if asked_in == language:
        return ""
    return _OTHER_LANGUAGE[asked_in].format(_OWN_NAMES.get(language, language))


def bare_question(question: str, language: str) -> str:
    """A question without the common words of its language, "machen" and "faire" among them.

    What is left, names and terms that languages share, may stand in a book in another one. English
    on an English book stays as it is: "do" is a function word, and no book lacks it.
    """
    asked_in = guess_language(question, language)
    if asked_in not in COMMON_WORDS or asked_in == "en" == language:
        return question
    common = COMMON_WORDS[asked_in].union(words(CARRIERS.get(asked_in, "")))
    return without_words(question, common)


def without_words(text: str, common: Collection[str]) -> str:
    """The text without what has no other words; as it is if nothing else is in it."""
    kept = [run for run in text.split() if not all(word in common for word in words(run))]
    return " ".join(kept) or text


def _count(found: Sequence[str], language: str) -> int:
    return sum(word in COMMON_WORDS.get(language, frozenset()) for word in found)
