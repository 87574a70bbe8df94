"""The length of texts in any script: their words, and their cost in tokens beside English."""

import re
from collections.abc import Callable, Iterable
from math import ceil

_ENGLISH_TOKENS = 0.25
"""cl100k tokens of English prose per letter."""
_BY_SCRIPT: tuple[tuple[str, float], ...] = (
    ("\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc", 1.27),  # Hebrew, Arabic: vowels are not written
    ("\u3040-\u30ff\u31f0-\u31ff", 1.35),  # kana
    ("\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3", 2.2),  # Hangul
    ("\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff", 3.0),  # Han
    ("\u0370-\u058f\u0900-\u10ff\u1200-\u1dff\u1f00-\u1fff\u2c80-\u2dff\ua800-\uabff", 1.0),
)
"""English letters with the content of one letter or mark, by script. Fitted on the gettext
catalogues of Debian 12: sentences of at least 80 characters and their translations."""
_LETTERS_PER_WORD = 5
"""Letters of an average English word."""
THAI_TO_KHMER = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer."""
_UNSPACED = tuple(
    (re.compile(f"[{letters}]"), weight)
    for letters, weight in (*_BY_SCRIPT[1:2], *_BY_SCRIPT[3:4], (THAI_TO_KHMER, 1.0))
)
"""The scripts without blanks between words."""
_UNSPACED_TEXT = re.compile(
    f"[{THAI_TO_KHMER}\u3000-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\uff00-\uff65\U00020000-\U0003ffff]"
)
"""Their letters with their punctuation."""
_OTHER = re.compile("[" + "".join(letters for letters, _ in _BY_SCRIPT) + "]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")
_SCRIPTS = tuple((re.compile(f"[{letters}]+"), weight) for letters, weight in _BY_SCRIPT)
_LEAST_SHARE = 0.02
"""Share of characters outside the Latin script below which a text counts as Latin."""
_STEP = 0.5
"""Scales are rounded, so that an edit to the book rarely changes the size of all chunks."""


def script_scale(texts: Iterable[str], count_tokens: Callable[[str], int]) -> float:
    """How many tokens a text costs, relative to English text of the same content.

    The tokenizer's vocabulary is mostly English: the same content costs 2.3 times as many cl100k
    tokens in Arabic and 3.8 times as many in Hindi. Sizes and budgets in tokens are multiplied by
    this scale: a multiple of 0.5, at least 1; exactly 1 for text in the Latin script.

    It is the mean, by content, of 1 for Latin letters and of the measured cost of all others.
    """
    known = list(texts)
    runs = [run for text in known if not text.isascii() for run in _OTHER.findall(text)]
    if sum(map(len, runs)) <= _LEAST_SHARE * sum(map(len, known)):
        return 1.0
    # As words of one text: a word is tokenised together with the blank before it.
    others = " ".join(runs)
    tokens = count_tokens(others)
    content = sum(weight * _length(letters, others) for letters, weight in _SCRIPTS)
    latin = sum(_length(_LATIN, text) for text in known)
    scale = (latin + tokens / _ENGLISH_TOKENS) / (latin + content)
    return max(1.0, round(scale / _STEP) * _STEP)


def _length(letters: re.Pattern[str], text: str) -> int:
    return sum(map(len, letters.findall(text)))


def word_count(text: str) -> int:
    """Return the number of words; of a text without blanks, how many it would have in English."""
    if text.isascii() or not _UNSPACED_TEXT.search(text):
        return len(text.split())
    letters = sum(weight * len(script.findall(text)) for script, weight in _UNSPACED)
    return len(_UNSPACED_TEXT.sub(" ", text).split()) + ceil(letters / _LETTERS_PER_WORD)
