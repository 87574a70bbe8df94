"""Characters that a text of strangers must not have where people look at it."""

from __future__ import annotations

import re

# C0 except tab and line end, DEL and C1; Unicode's explicit bidi controls; lone surrogates.
_DECEIVING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def printable(text: str) -> str:
    """Replace each character that controls a terminal or reverses the text's order by U+FFFD.

    The length stays the same, so positions in the text stay valid.
    """
    return _DECEIVING.sub("\N{REPLACEMENT CHARACTER}", text)
