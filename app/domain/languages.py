"""The language of a text by its commonest words or its script, and what those words are."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from app.domain.terms import words

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


def without_words(text: str, common: Collection[str]) -> str:
    """The text without what has no other words; as it is if nothing else is in it."""
    kept = [run for run in text.split() if not all(word in common for word in words(run))]
    return " ".join(kept) or text


def _count(found: Sequence[str], language: str) -> int:
    return sum(word in COMMON_WORDS.get(language, frozenset()) for word in found)
