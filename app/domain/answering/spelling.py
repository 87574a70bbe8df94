"""The words of a question that may be misspelled, and the question with other words for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

SHORTEST = 5
"""Letters; a shorter word is within one edit of too many others."""
MOST = 16
"""Words of a question that are looked at: each may be compared with every word of a book."""

_WORD = re.compile(r"[^\W\d_]+")


def correctable(text: str) -> list[str]:
    """The words that may be misspelled, each once, in order.

    Names are left out: words with a capital at the beginning, though not "createAsyncThnk".
    """
    found = dict.fromkeys(word for word in _WORD.findall(text) if len(word) >= SHORTEST)
    return [word for word in found if word[0].islower() or text.startswith(word)][:MOST]


def plain_words(text: str) -> list[str]:
    """The words of the text as they are written, repeats kept."""
    return _WORD.findall(text)


def replaced(question: str, words: Mapping[str, str]) -> str:
    """The question with each of these words replaced by the other, wherever it is a whole word."""
    return _WORD.sub(lambda match: words.get(match[0], match[0]), question)
