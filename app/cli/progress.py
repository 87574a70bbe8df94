"""Progress of long runs, on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

from app.cli.output import duration, remark
from app.domain.errors import RagError
from app.services.phases import Phase, Phases


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


def fetching(*, as_json: bool) -> Callable[[int, int], None]:
    """Return what tells the numbers of pages fetched and known."""
    report, phase, started = phases(as_json=as_json).report, Phase("fetch", 0, "pages"), monotonic()

    def told(done: int, known: int) -> None:
        phase.done, phase.total, phase.seconds = done, known, monotonic() - started
        report(phase)

    return told


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too, unless that is a terminal."""
    try:
        yield
    except RagError as error:
        if not sys.stderr.isatty():
            _remark_json({"error": error.code, "message": str(error)})
        raise


def _tell(phase: Phase) -> None:
    of = f" of {phase.total:,}" if phase.total and not phase.ended else ""
    done = f"{phase.done:,}{of} {phase.unit}" if phase.unit else ""
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
