"""The length of a text in words, in any script."""

from __future__ import annotations

import re
from math import ceil

_LETTERS_PER_WORD = 5
"""Letters of an average English word."""
_SCRIPTS = (
    (re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 3.0),  # Han
    (re.compile("[\u3040-\u30ff\u31f0-\u31ff]"), 1.35),  # kana
    (re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 1.0),  # Thai, Lao, Burmese, Khmer
)
"""Letters of scripts without blanks between words, and their content in English letters."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\uff00-\uff65\U00020000-\U0003ffff]"
)
"""These letters with their punctuation."""


def word_count(text: str) -> int:
    """Return the number of words; of a text without blanks, how many it would have in English."""
    if text.isascii() or not _UNSPACED.search(text):
        return len(text.split())
    letters = sum(weight * len(script.findall(text)) for script, weight in _SCRIPTS)
    return len(_UNSPACED.sub(" ", text).split()) + ceil(letters / _LETTERS_PER_WORD)
