"""Finds prompt injections in a book: instructions to a language model.

A book about prompting may quote them, so they stay in the text; an ingest warns with the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class _Sign(NamedTuple):
    meaning: str
    words: tuple[str, ...]
    """Every match contains one of them: a fast pre-test."""
    pattern: re.Pattern[str]


_SIGNS = (
    _Sign(
        "tells a model to drop its instructions",
        ("ignore", "disregard", "forget", "override"),
        re.compile(
            r"\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|of|the|your|my)\s+){0,3}"
            r"(?:previous|prior|above|earlier|preceding|foregoing|system)\s+"
            r"(?:instruction|prompt|direction|rule|message)s?\b"
        ),
    ),
    _Sign(
        "tells a model who it is",
        ("you are",),
        re.compile(
            r"you\s+are\s+(?:now\s+)?(?:(?:chatgpt|gpt-?\d|claude|gemini|copilot)\b"
            r"|an?\s+(?:ai|llm|(?:large\s+)?language\s+model)\b|in\s+developer\s+mode\b)"
        ),
    ),
    _Sign(
        "asks for a model's prompt",
        ("prompt", "instruction"),
        re.compile(
            r"\b(?:reveal|print|repeat|output|show)\s+(?:me\s+)?(?:your|the)\s+"
            r"(?:system|hidden|initial)\s+(?:prompt|instructions?)\b"
        ),
    ),
    _Sign(
        "has a chat template's token",
        ("<|", "inst]", "sys>>", "_of_turn>"),
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|begin_of_text"
            r"|start_header_id)\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"
        ),
    ),
)
_TAGS = "\U000e0001\U000e0020-\U000e007f"
_ZERO_WIDTH = "\u200b-\u200f\u2060-\u2064\ufeff"
_INVISIBLE = _Sign(
    "has a run of invisible characters",
    (),
    # The leading character class makes the search fast.
    re.compile(
        f"[{_TAGS}{_ZERO_WIDTH}](?:(?<=[{_TAGS}])[{_TAGS}]{{3}}"
        f"|(?<=[{_ZERO_WIDTH}])[{_ZERO_WIDTH}]{{3}})"
    ),
)
_BIDI_OVERRIDE = _Sign("overrides the direction of writing", (), re.compile("[\u202d\u202e]"))
# Flags of subdivisions, such as Scotland, are a black flag and tag characters.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_MIN_PART = 1 << 14
"""Minimum characters of a part; a lower-case copy may take four times the memory."""


def prompt_injections(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line (from 1) and a description of each kind of injection in the text."""
    found: dict[_Sign, list[int]] = {sign: [] for sign in (*_SIGNS, _INVISIBLE, _BIDI_OVERRIDE)}
    before = 0
    for part in _parts(text):
        for sign, line in _signs_in(part):
            found[sign].append(before + line)
        before += part.count("\n")
    for sign, lines in found.items():
        if lines:
            more = f", and {len(lines) - 1:,} more in this file" if lines[1:] else ""
            yield lines[0], f"{sign.meaning}{more}"


def _parts(text: str) -> Iterator[str]:
    """Cut a text at blank lines: no match extends across one."""
    start = 0
    while start < len(text):
        end = text.find("\n\n", start + _MIN_PART) + 2
        end = end if end >= 2 else len(text)
        yield text[start:end]
        start = end


def _signs_in(text: str) -> Iterator[tuple[_Sign, int]]:
    lower = text.lower()
    signs = [sign for sign in _SIGNS if any(word in lower for word in sign.words)]
    if not text.isascii():
        lower = _FLAG.sub("", lower)
        signs += (_INVISIBLE, _BIDI_OVERRIDE)
    for sign in signs:
        for match in sign.pattern.finditer(lower):
            yield sign, lower.count("\n", 0, match.start()) + 1
