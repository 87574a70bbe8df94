"""Correct misspelled words of a question by the words of the texts found for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

SHORTEST = 5
"""Letters; a shorter word is within one edit of too many others."""
LEAST_RATIO = 0.84
"""Least ratio of `difflib`, 0 to 1: about one letter in seven is wrong, missing or added."""
MOST = 4
"""Words of a question that are corrected: each is compared with every word of the texts."""

_WORD = re.compile(r"[^\W\d_]+")


def long_words(text: str) -> list[str]:
    """The words that may be misspelled, each once, in order; names are left out."""
    found = dict.fromkeys(word for word in _WORD.findall(text) if len(word) >= SHORTEST)
    return [word for word in found if word.islower() or text.startswith(word)]


def respelled(question: str, unknown: Collection[str], near: Iterable[str]) -> str:
    """The question with each word in `unknown` replaced by the most similar word of `near`, if any.

    The first letter stays, so that "unsorted" is not taken for "sorted".
    """
    known = {word.lower() for text in near for word in _WORD.findall(text) if len(word) >= SHORTEST}
    for word in list(unknown)[:MOST]:
        same = [one for one in known if one[0] == word[0].lower()]
        closest = get_close_matches(word.lower(), sorted(same), n=1, cutoff=LEAST_RATIO)
        if closest:
            question = re.sub(rf"\b{re.escape(word)}\b", closest[0], question)
    return question
