"""Sentence boundaries by the `sentencex` library."""

import re
from collections.abc import Iterator

from sentencex import segment

from app.domain.document import Span

# A piece with no word in it ("(2).", "1.") belongs to the sentence before or after it.
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
# Sentencex 1.0.32 takes white space after a period for one byte; it panics on U+0085, U+00A0,
# U+3000 and others of several bytes.
_ODD_BLANK = re.compile(r"[^\S \n]")
# Characters. Sentencex takes quadratic time on runs of quotes, backticks and exclamation marks.
_WINDOW = 4_000
# Sentencex knows few abbreviations outside English; no sentence begins with a small letter.
_CONTINUES = re.compile(
    r"[\s\"'\u2018-\u201f\u00ab(\[*_]*[a-z\u00df-\u00f6\u00f8-\u00ff\u0430-\u044f\u03b1-\u03c9]"
)
# A cut without a blank is inside a name or code: "a.B", "the ?-operator", "println!()", "?.は".
_INSIDE = re.compile(r"[.?!](?:_*[A-Za-z0-9]|[,;:(\[/=&|-])|(?<=[?!])\.\w")


def split_sentences(text: str, language: str) -> list[Span]:
    """Return the half-open spans of a paragraph's sentences, without white space at their ends.

    `language` is an ISO 639-1 code; an unknown one is split by the rules of the nearest known one.
    Every non-blank character is in exactly one span.
    """
    spans: list[Span] = []
    worded = False  # whether the last span contains a word
    for start, end, piece in _pieces(text, language):
        has_word = bool(_WORD.search(piece))
        inside = _INSIDE.match(text, start - 1) if start else None
        if spans and (not worded or not has_word or inside or _CONTINUES.match(piece)):
            # The cut between the pieces may separate two letters.
            worded = worded or has_word or bool(_WORD.search(text, start - 1, start + 1))
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
            worded = has_word
    return spans


def _pieces(text: str, language: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each segment, without blanks around it."""
    at = 0
    for piece in _segments(_ODD_BLANK.sub(" ", text), language):
        stripped = piece.strip()
        if stripped:
            begin = at + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped), stripped
        at += len(piece)


def _segments(text: str, language: str) -> Iterator[str]:
    """Yield the library's segments. A long text is split in windows that start at a segment."""
    at = 0
    unfinished = ""
    while at < len(text):
        pieces = segment(language, text[at : at + _WINDOW])
        last = at + _WINDOW >= len(text)
        if len(pieces) == 1 and not last:
            unfinished += pieces[0]
            at += len(pieces[0])
            continue
        for piece in pieces if last else pieces[:-1]:
            yield unfinished + piece
            unfinished = ""
            at += len(piece)
