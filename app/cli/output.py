"""Output of the commands: results on stdout, messages on stderr.

Nothing printed controls a terminal, whoever wrote it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from app.domain.characters import printable

_LISTED = 20
"""Maximum lines of one kind: a book may have thousands of warnings."""


class PrintableOutput:
    """Another stream, to which only printable text is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the stream
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))


def remark(text: str) -> None:
    """Print a line on stderr."""
    print(printable(text), file=sys.stderr)


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print one object or array as one line on stdout."""
    print(json.dumps(value, ensure_ascii=False, default=str))


def remark_each(prefix: str, lines: Sequence[object]) -> None:
    """Print the first lines, and how many more there are."""
    for line in lines[:_LISTED]:
        remark(f"{prefix}: {line}")
    if len(lines) > _LISTED:
        remark(f"{prefix}: and {len(lines) - _LISTED:,} more (--json lists all)")


def duration(seconds: float) -> str:
    """Format seconds as "1.5 s", "12 min" or "2.0 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
