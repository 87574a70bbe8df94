"""Output of the commands: results on stdout; messages and the progress of long runs on stderr.

Nothing printed controls a terminal, whoever wrote it.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic_core import to_jsonable_python

from app.domain.characters import counted, printable
from app.domain.errors import InputError, RagError
from app.services.phases import Phase, Phases

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
    say(json.dumps(value, ensure_ascii=False, default=to_jsonable_python))


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
        raise InputError(f"{question} Without a terminal add --yes")
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


def phases(*, as_json: bool = False) -> Phases:
    """Return the phases of a long run, told as lines or, if stderr is no terminal, as JSON.

    The beginning and the end of each are told, and how far it is every few seconds.
    """
    as_json = as_json and not sys.stderr.isatty()
    tell, every = (_tell_json, 1.0) if as_json else (_tell, 10.0)
    told = 0.0

    def report(phase: Phase) -> None:
        nonlocal told
        if not phase.seconds or phase.ended or phase.seconds - told >= every:
            told = phase.seconds
            tell(phase)

    return Phases(report)


def said(error: RagError) -> str:
    """Return the error with its notes."""
    return "; ".join([str(error), *getattr(error, "__notes__", [])])


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too, unless that is a terminal."""
    try:
        yield
    except RagError as error:
        if not sys.stderr.isatty():
            _remark_json({"error": error.code, "message": said(error)})
        raise


def _tell(phase: Phase) -> None:
    of = f"{phase.done:,} of " if phase.total and not phase.ended else ""
    done = of + counted(phase.total if of else phase.done, phase.unit) if phase.unit else ""
    if phase.ended:
        remark(f"{phase.name}: {done}{' in ' if done else ''}{duration(phase.seconds)}")
    elif phase.done:
        left = phase.seconds * (phase.total - phase.done) / phase.done
        remark(f"{phase.name}: {done}{f', {duration(left)} left' if left > 0 else ''}")


def _tell_json(phase: Phase) -> None:
    _remark_json(
        {"phase": phase.name, "total": phase.total, "unit": phase.unit, "done": phase.done}
    )


def _remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)
