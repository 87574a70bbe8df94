"""Words as a browser's search for a text fragment compares them."""

from __future__ import annotations

import re
import unicodedata

COMBINING_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200b-\u200d\ufe00-\ufe0f"
)
LETTERS = rf"[\w{COMBINING_MARKS}]+"
WORD = re.compile(rf"{LETTERS}(?:['\u2019]{LETTERS}|(?<=\d)[.,](?=\d){LETTERS})*")
"""A word as in Chromium's search: `size_of`, `don't`, `3.14` are one word, `docs.org` two."""


def folded_words(text: str) -> str:
    """Join folded words by two blanks, so that adjacent matches share no blank."""
    if text.isascii():
        return f" {'  '.join(WORD.findall(text.lower()))} "
    return f" {'  '.join(map(fold_word, WORD.findall(text)))} "


def fold_word(word: str) -> str:
    """Fold case and accents, as the browser's search does."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().replace("\u2019", "'"))
    return "".join(char for char in decomposed if char.isalnum() or char in "'_.,") or word
