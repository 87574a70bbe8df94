"""Progress of long runs, on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.cli.output import duration
from app.cli.printing import remark
from app.domain.errors import RagError
from app.services.phases import Phase, Phases

_EVERY_SECONDS = 10.0
_JSON_EVERY_SECONDS = 1.0


def phases(*, as_json: bool = False) -> Phases:
    """Return the phases of a long run, told as lines or, if stderr is no terminal, as JSON."""
    if as_json and not sys.stderr.isatty():
        return Phases(Periodic(_tell_json, _JSON_EVERY_SECONDS))
    return Phases(Periodic(_tell))


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too, unless that is a terminal."""
    try:
        yield
    except RagError as error:
        if not sys.stderr.isatty():
            _remark_json({"error": error.code, "message": str(error)})
        raise


@dataclass(slots=True)
class Periodic:
    """Passes on the beginning and the end of phases, and how far they are every few seconds."""

    show: Callable[[Phase], None]
    every: float = _EVERY_SECONDS
    shown: float = 0.0

    def __call__(self, phase: Phase) -> None:
        if not phase.seconds or phase.ended or phase.seconds - self.shown >= self.every:
            self.shown = phase.seconds
            self.show(phase)


def _tell(phase: Phase) -> None:
    of = f" of {phase.total:,}" if phase.total and not phase.ended else ""
    done = f"{phase.done:,}{of} {phase.unit}" if phase.unit else ""
    if phase.ended:
        remark(f"{phase.name}: {done}{' in ' if done else ''}{duration(phase.seconds)}")
    elif phase.done:
        remark(f"{phase.name}: {done}")


def _tell_json(phase: Phase) -> None:
    _remark_json(
        {"phase": phase.name, "total": phase.total, "unit": phase.unit, "done": phase.done}
    )


def _remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)
