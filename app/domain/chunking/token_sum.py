"""Tokens of joined texts from the counts of the parts, so that each block is tokenised once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

_LONGEST_EDGE = 24


@dataclass(slots=True)
class JoinCounter:
    """How many tokens a gap between two texts adds to the sum of theirs.

    Holds for byte-pair encodings whose pre-tokenizer, like that of cl100k_base and o200k_base,
    always parts text after a run of letters or digits and before a line's first character: what
    lies between such places is tokenised by itself. A test compares with the real encoding.
    """

    count_tokens: Callable[[str], int]
    known: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def added(self, left: str, gap: str, right: str) -> int | None:
        """Tokens of left + gap + right, less those of left and of right; None if not known.

        Known where the gap has a line's end and neither text has a blank towards it.
        """
        if "\n" not in gap or not left or not right or left[-1].isspace() or right[0].isspace():
            return None
        tail = _after_last_word(left)
        head = "" if gap.endswith("\n") else _to_first_word_end(right)
        if tail is None or head is None:
            return None
        key = (tail, gap, head)
        if key not in self.known:
            alone = self.count_tokens(tail) + self.count_tokens(head)
            self.known[key] = self.count_tokens(tail + gap + head) - alone
        return self.known[key]


def _after_last_word(text: str) -> str | None:
    """What follows the last letter or digit; None if that is long."""
    at = len(text)
    while at and not text[at - 1].isalnum():
        at -= 1
        if len(text) - at > _LONGEST_EDGE:
            return None
    return text[at:]


def _to_first_word_end(text: str) -> str | None:
    """All up to the end of the first run of letters, or of digits; None if that is long."""
    for start, character in enumerate(text[:_LONGEST_EDGE]):
        if character.isalnum():
            letters = character.isalpha()
            end = start
            while end < len(text) and text[end].isalnum() and text[end].isalpha() == letters:
                end += 1
            return text[:end] if end <= 2 * _LONGEST_EDGE else None
    return None
