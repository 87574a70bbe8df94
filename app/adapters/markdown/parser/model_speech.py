"""Text that is written for a language model rather than a reader: worth a look, and no more.

A book about prompting may say all of it, so nothing is left out; an ingest warns of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class _Sign(NamedTuple):
    meaning: str
    words: tuple[str, ...]
    """One of them is in every match: finding that takes no time."""
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
_UNSEEN = _Sign(
    "has a run of characters that nobody sees",
    (),
    # One class in front of the alternatives lets the search skip other characters fast.
    re.compile(
        f"[{_TAGS}{_ZERO_WIDTH}](?:(?<=[{_TAGS}])[{_TAGS}]{{3}}"
        f"|(?<=[{_ZERO_WIDTH}])[{_ZERO_WIDTH}]{{3}})"
    ),
)
_TURNED = _Sign("turns the direction of writing", (), re.compile("[\u202d\u202e]"))
# The flags of parts of a country are a black flag and tags; nothing else is written with them.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_AT_ONCE = 1 << 14
"""Characters of a part, at least: a lower-case copy of a whole file may be four times its size."""


def speech_to_models(text: str) -> Iterator[tuple[int, str]]:
    """Yield for each sort of such text the line of the first, from 1, and what it does."""
    found: dict[_Sign, list[int]] = {sign: [] for sign in (*_SIGNS, _UNSEEN, _TURNED)}
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
    """Cut a text at blank lines, which no sign goes across."""
    start = 0
    while start < len(text):
        end = text.find("\n\n", start + _AT_ONCE) + 2
        end = end if end >= 2 else len(text)
        yield text[start:end]
        start = end


def _signs_in(text: str) -> Iterator[tuple[_Sign, int]]:
    lower = text.lower()
    signs = [sign for sign in _SIGNS if any(word in lower for word in sign.words)]
    if not text.isascii():
        lower = _FLAG.sub("", lower)
        signs += (_UNSEEN, _TURNED)
    for sign in signs:
        for match in sign.pattern.finditer(lower):
            yield sign, lower.count("\n", 0, match.start()) + 1
