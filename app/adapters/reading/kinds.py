"""Which kind of block an admonition, exercise or solution is, by its title."""

from __future__ import annotations

import re

from app.domain.document import BlockKind

_SOLUTION = re.compile(
    r"^\W*(?:show |view |see |reveal |click .{0,20}|the |sample |model |possible |hidden ){0,6}"
    r"(?:solutions?|answers?|hints?)\b.{0,60}$",
    re.IGNORECASE,
)
_EXERCISE = re.compile(
    r"^\W*(?:exercises?|problems?|challenge|task|checkpoint|quiz)\b(?:\W*$|\W*\d)", re.IGNORECASE
)


def titled_kind(title: str) -> BlockKind:
    """Return the kind of an admonition or of details: the title may make it an exercise, or a
    solution, which is hidden from answers like a hint.
    """
    if _SOLUTION.match(title):
        return BlockKind.SOLUTION
    return BlockKind.EXERCISE if _EXERCISE.match(title) else BlockKind.ADMONITION
