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


def phases() -> Phases:
    """Return phases that are told as lines: every ten seconds, and after each."""
    return Phases(Periodic(lambda phase: remark(line) if (line := told(phase)) else None))


def json_phases() -> Phases:
    """Return phases that are told as JSON: at the beginning, every second and at the end."""
    return Phases(Periodic(_remark_phase, _JSON_EVERY_SECONDS))


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
    """Passes on the beginning and the end of phases, and what is between every few seconds."""

    show: Callable[[Phase], None]
    every: float = _EVERY_SECONDS
    shown: float = 0.0

    def __call__(self, phase: Phase) -> None:
        if not phase.seconds or phase.ended or phase.seconds - self.shown >= self.every:
            self.shown = phase.seconds
            self.show(phase)


def told(phase: Phase) -> str:
    """Return what a line says of a phase; "" at its beginning."""
    if phase.ended:
        in_all = f"{phase.done:,} {phase.unit} in " if phase.unit else ""
        return f"{phase.name}: {in_all}{duration(phase.seconds)}"
    if not phase.done:
        return ""
    if not phase.total:
        return f"{phase.name}: {phase.done:,} {phase.unit}"
    left = duration(max(0, phase.total - phase.done) * phase.seconds / phase.done)
    return f"{phase.name}: {phase.done:,} of {phase.total:,} {phase.unit}, {left} left"


def _remark_phase(phase: Phase) -> None:
    _remark_json(
        {"phase": phase.name, "total": phase.total, "unit": phase.unit, "done": phase.done}
    )


def _remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)
