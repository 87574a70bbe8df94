"""Output of the commands: results on stdout, messages on stderr.

Nothing printed controls a terminal, whoever wrote it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from app.domain.characters import printable
from app.domain.errors import InputError

_LISTED = 20
"""Maximum lines of one kind: a book may have thousands of warnings."""


def say(text: str) -> None:
    """Print a line on stdout."""
    print(printable(text))


def remark(text: str) -> None:
    """Print a line on stderr."""
    print(printable(text), file=sys.stderr)


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print one object or array as one line on stdout."""
    say(json.dumps(value, ensure_ascii=False, default=str))


def show(
    value: Mapping[str, object] | Sequence[object], lines: Iterable[str], *, as_json: bool
) -> None:
    """Print a result for a program, or as lines for people."""
    if as_json:
        print_json(value)
    else:
        for line in lines:
            say(line)


def remark_each(prefix: str, lines: Sequence[object]) -> None:
    """Print the first lines, and how many more there are."""
    for line in lines[:_LISTED]:
        remark(f"{prefix}: {line}")
    if len(lines) > _LISTED:
        remark(f"{prefix}: and {len(lines) - _LISTED:,} more (--json lists all)")


def agreed(question: str, *, yes: bool) -> bool:
    """Ask on a terminal, unless with --yes, which is needed without a terminal: InputError."""
    if yes:
        return True
    if not sys.stdin.isatty():
        message = f"{question} Without a terminal add --yes"
        raise InputError(message)
    remark(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    remark("nothing is changed")
    return False


def duration(seconds: float) -> str:
    """Format seconds as "1.5 s", "12 min" or "2.0 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
