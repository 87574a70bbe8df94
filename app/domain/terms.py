"""Words, numbers, names and sentences of a text, by which texts are compared."""

import re
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

Terms: TypeAlias = Callable[[str], frozenset[int]]
"""Maps a text to the ids of its index terms: stems, without stop words."""

# Python's \w leaves out the vowel signs of Arabic and of the scripts of South and South-East Asia.
_MARKS = "[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff]"
_LETTERS = rf"(?:[^\W_]++(?:{_MARKS}++[^\W_]*+)*+|(?:{_MARKS}++[^\W_]*+)++)"
_WORD = re.compile(_LETTERS)
_NAME = re.compile(f"{_LETTERS}(?:[-'\u2019]{_LETTERS})*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,\u00a0\u202f]\d+)*(?!\w)")
_SEPARATOR = re.compile("[\u00a0\u202f]|[.,](?=\\d{3}(?:[.,\u00a0\u202f]|$))")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:;]|[-*#>|]|\n)[\s\"'(\[*_`\u201c\u2018]*$")
"""Before a capital that means nothing: list marks, too; no stops of scripts without capitals."""
_OPENING = 40
"""Limit on the marks between the end of a sentence and its first word."""
STOPS = ".!?\u2026\u0964\u061f\u06d4\u1362\u17d4"
"""End a sentence where a blank follows; of Devanagari, Arabic, Urdu, Ethiopic and Khmer, too."""
WIDE_STOPS = "\u3002\uff01\uff1f"
"""End a sentence whatever follows, unlike U+FF0E and U+FF61, which are in numbers, too."""
COLONS = (":", "\uff1a")
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
CLOSING = "]\"'\u2019\u201d\u00bb)*_\u300d\u300f\uff09"
"""Quotes, brackets and emphasis that may follow a stop; as the class of a pattern, too."""
SENTENCE_END = re.compile(rf"[{STOPS}][{CLOSING}]*(?=\s|$)|[{WIDE_STOPS}\uff0e\uff61][{CLOSING}]*")
_TO_STOP = rf"[^{STOPS}{WIDE_STOPS}\n]*+"
# Possessive: linear. Splitting after a lookbehind for the stop would take four times as long.
_SENTENCE = re.compile(rf"{_TO_STOP}(?:[{STOPS}]++(?!\s){_TO_STOP})*+[{STOPS}{WIDE_STOPS}]*+")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_FIGURES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty
"""
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_FIGURES.split())}
"""Words that count as figures -> figure."""


def sentences(text: str) -> list[str]:
    """Split approximately, for scores; text of a book that is shown is cut by `SplitSentences`."""
    return [one for one in map(str.strip, _SENTENCE.findall(text)) if one]


def has_sentence(text: str) -> bool:
    """Whether a sentence ends in the text, unlike in a label or a line of links."""
    return SENTENCE_END.search(text) is not None


def ends_in_sentence(text: str) -> bool:
    """Whether the text's last sentence is complete, unlike in "The form is" before a listing."""
    return any(one.end() == len(text.rstrip()) for one in SENTENCE_END.finditer(text))


def words(text: str) -> list[str]:
    """Runs of letters and figures in lower case, NFKC; a possessive s is left out."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(_POSSESSIVE.sub("", folded))


def joined_words(text: str) -> str:
    """The words with a blank before and after each: one text has another one if it contains it."""
    return f" {' '.join(words(text))} "


def numbers(text: str) -> set[str]:
    """The numbers in `text` without group separators; "two" to "twenty" count as figures."""
    figures = (_SEPARATOR.sub("", found[0]) for found in _NUMBER.finditer(text))
    said = {NUMBER_WORDS[word] for word in words(text) if word in NUMBER_WORDS}
    return said.union(figure.replace(",", ".") for figure in figures)


def names(text: str) -> set[str]:
    """Words written as names, in lower case: NASA, McCulloch, "the Nile".

    They have a capital inside the word, or at its start where no sentence starts.
    """
    found: set[str] = set()
    for match in _NAME.finditer(text):
        word = match.group()
        before = max(0, match.start() - _OPENING)
        capital = word[:1].isupper() and not _SENTENCE_BEGINS.search(text, before, match.start())
        if len(word) > 1 and (capital or any(char.isupper() for char in word[1:])):
            found.update(words(word))
    return found
