"""Misspelt words of a question, told by what the book says near it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

SHORTEST = 5
"""Letters; a shorter word is like too many others."""
LIKENESS = 0.84
"""Ratio of `difflib`, 0 to 1: one letter in seven wrong, missing or too many."""
MOST = 4
"""Words of a question that are looked at: each is compared with all that the book says near it."""

_WORD = re.compile(r"[^\W\d_]+")


def long_words(text: str) -> list[str]:
    """The words that may be misspelt, each once, in their order; a name is as it is."""
    found = dict.fromkeys(word for word in _WORD.findall(text) if len(word) >= SHORTEST)
    return [word for word in found if word.islower() or text.startswith(word)]


def respelled(question: str, unknown: Collection[str], near: Iterable[str]) -> str:
    """The question with the words in `unknown` as the texts in `near` spell what is likest.

    The first letter stays, so that "unsorted" is not taken for "sorted".
    """
    known = {word.lower() for text in near for word in _WORD.findall(text) if len(word) >= SHORTEST}
    for word in list(unknown)[:MOST]:
        same = [one for one in known if one[0] == word[0].lower()]
        likest = get_close_matches(word.lower(), sorted(same), n=1, cutoff=LIKENESS)
        if likest:
            question = re.sub(rf"\b{re.escape(word)}\b", likest[0], question)
    return question
