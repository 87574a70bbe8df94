"""The text that is searched for instead of a question: what is left of it is about its subject.

Politeness around the subject ("can you explain osmosis, please?") stays in languages with blanks
between words: without it 9 question sets and 234 questions of students found the same. The
languages that are indexed by pairs of characters need it left out: some pairs belong to such a
phrase and others to the words beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.languages import FUNCTION_WORDS
from app.domain.retrieval.standalone import has_anaphor
from app.domain.terms import words

_CHINESE_AND_JAPANESE = """
    什么是 是什么意思 是什么 什么意思 什么 请问 怎么样 怎么用 怎么 怎样 如何 为什么 为何 是否 有哪些
    哪些 哪个 解释一下 介绍一下 告诉我
    とは何ですか とは何でしょうか とはなんですか とは何か とは何 とは って何ですか って何 は何ですか
    何ですか なんですか について教えてください について教えて を教えてください を教えて
    教えてください 教えて について説明してください を説明してください 説明してください について
    はどういう意味ですか どういう意味ですか はどうやって どうやって はどのように どのように
    はどうすれば どうすれば どうしたら はなぜ なぜ どうして
"""
_CHINESE_OR_JAPANESE_END = (
    r"(?:吗|呢|のですか|ですか|ますか|でしょうか|ください)?(?:[？！。?!]+|(?=[，,\s])|$)"
)
"""Elsewhere these are parts of words, such as 吗啡."""
_PHRASES_LEFT_OUT = ("zh", "ja")
_UNSPACED = re.compile(
    "|".join(
        [*sorted(_CHINESE_AND_JAPANESE.split(), key=len, reverse=True), _CHINESE_OR_JAPANESE_END]
    )
)


class _Sentence(NamedTuple):
    """How a language begins a sentence."""

    asks: re.Pattern[str]
    asks_after_comma: re.Pattern[str]
    """Matches the comma of "my exam is soon, what is osmosis", but none of a relative clause."""
    is_about_reader: re.Pattern[str]


def _sentence(asking: str, after_comma: str, reader: str) -> _Sentence:
    """Make the patterns of regular expressions in which "'" is any apostrophe."""
    patterns = (
        rf"\W{{0,3}}(?:{asking})\b",
        rf",(?=\s+(?:{after_comma})\b)",
        rf"\W{{0,3}}(?:{reader})\b",
    )
    return _Sentence(*(re.compile(one.replace("'", "['\u2019]"), re.I) for one in patterns))


_SENTENCES = {
    "en": _sentence("what|how|why|where|when|who|which", "what|how|why", "i|i'.{1,2}|my|we|our"),
    "de": _sentence(
        "was|wie|warum|wo|wann|wer|ist|sind", "was|wie|warum", "ich|mein.{0,2}|wir|unser.{0,2}"
    ),
    "es": _sentence(
        "qu[eé]|c[oó]mo|cu[aá]l(?:es)?|(?:por|para) qu[eé]|es|son",
        "qu[eé] (?:es|son)|c[oó]mo|por qu[eé]",
        "yo|mis?|nosotros|nuestr.s?",
    ),
    "fr": _sentence(
        "quoi|comment|pourquoi|qu'est-ce|c'est quoi|[àa] quoi|quel(?:le)?|est|sont",
        "qu'est-ce|c'est quoi|quoi|comment|pourquoi",
        "je|j'.+?|mon|ma|mes|nous|notre|nos",
    ),
    "it": _sentence(
        "(?:che )?cosa|(?:che )?cos'.|come|perch[eé]|è|sono",
        "(?:che )?cosa|(?:che )?cos'.|perch[eé]",
        "io|(?:il )?mio|(?:la )?mia|noi|(?:il )?nostro",
    ),
    "pt": _sentence(
        "(?:o )?que|como|qual|(?:por|para|pra) que|é|s[aã]o",
        "o que (?:é|s[aã]o)|(?:por|pra) que",
        "eu|(?:o )?meu|(?:a )?minha|n[oó]s|(?:o )?nosso",
    ),
}
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=.)|\n")
_BEFORE_MARK = re.compile(r"(?<=\w)\s+(?=[?!]\s*\Z)")
"""The blank of "Qu'est-ce que l'osmose ?", which makes the question mark a term."""


def _clauses(question: str, language: str) -> list[str]:
    """Split into sentences; a clause with a question word after a comma is one, too."""
    if known := _SENTENCES.get(language):
        question = known.asks_after_comma.sub(".", question)
    return _SENTENCE_END.split(question)


def without_context(question: str, language: str) -> str:
    """Return the question without sentences about the reader ("I have an exam tomorrow.").

    Unchanged unless another sentence asks, with a question mark or a question word, and has no
    anaphor, which would refer to them.
    """
    known = _SENTENCES.get(language)
    if known is None:
        return question
    sentences = _clauses(question.strip(), language)
    asking = [
        one for one in sentences if one.rstrip().endswith(_QUESTION_MARKS) or known.asks.match(one)
    ]
    kept = [one for one in sentences if one in asking or not known.is_about_reader.match(one)]
    refers = not asking or has_anaphor("\n".join(asking), language)
    return question if refers or len(kept) == len(sentences) else "\n".join(kept)


_SHORT_WORD = 3
"""Letters of words that may be in lower case in a title: "of", "the"."""


@dataclass(frozen=True, slots=True)
class SearchText:
    text: str
    words: tuple[str, ...]


def search_text(question: str, language: str) -> SearchText:
    """Return the text to search for instead of a question about a book in `language`.

    White space is single blanks. A sentence in capitals or in title case is in lower case, because
    the embedders distinguish them. A clause that asks is a sentence, so that it may ask for a
    definition. In Chinese and Japanese the phrases of a question are left out, unless it has no
    other words.
    """
    clauses = _clauses(_BEFORE_MARK.sub("", question), language)
    whole = " ".join(_in_lower_case(" ".join(one.split()), language) for one in clauses).strip()
    if language in _PHRASES_LEFT_OUT:
        subject = " ".join(_UNSPACED.sub(" ", whole).split())
        whole = subject if words(subject) else whole
    return SearchText(whole, tuple(words(whole)))


def _in_lower_case(sentence: str, language: str) -> str:
    """Lower the words of a sentence in capitals or in title case; "HashMap" and "DNA" keep theirs.

    In title case all longer words, and a common one after the first, have a capital.
    """
    said = sentence.split()
    if sentence.isupper():
        return sentence.lower() if sum(map(str.isupper, said)) > 1 else sentence
    common = FUNCTION_WORDS.get(language, frozenset())
    titled = not any(word[0].islower() for word in said if len(word) > _SHORT_WORD) and any(
        word.istitle() and len(word) > 1 and word.lower() in common for word in said[1:]
    )
    return " ".join(word.lower() if titled and word.istitle() else word for word in said)
