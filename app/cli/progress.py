"""Progress of long runs, on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from app.cli.output import duration
from app.cli.printing import remark
from app.domain.errors import RagError
from app.services.phases import Phases

_EVERY_SECONDS = 10.0
_JSON_EVERY_SECONDS = 1.0


@contextmanager
def phases(*, as_json: bool = False) -> Iterator[Phases]:
    """Yield the phases of a long run: bars on a terminal, else lines, or JSON lines."""
    console = Console(stderr=True)
    if console.is_terminal:
        with _bars(console) as bars:
            yield Phases(ProgressBars(bars))
    else:
        yield Phases(JsonProgress() if as_json else ProgressLines())


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too, unless that is a terminal."""
    try:
        yield
    except RagError as error:
        if not sys.stderr.isatty():
            _remark_json({"error": error.code, "message": str(error)})
        raise


def _remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)


class ProgressLines:
    """A line every ten seconds of a phase, and one after it."""

    every = _EVERY_SECONDS

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        self._phase, self._total, self._unit = phase, total, unit
        self._done, self._began, self._said = 0, time.monotonic(), time.monotonic()

    def advance(self, _: str, amount: int) -> None:
        self._done += amount
        if time.monotonic() - self._said >= self.every:
            self._said = time.monotonic()
            self.say()

    def finish(self, _: str) -> None:
        done = f"{self._done:,} {self._unit} in " if self._unit else ""
        remark(f"{self._phase}: {done}{duration(time.monotonic() - self._began)}")

    def say(self) -> None:
        """Print how far the phase is."""
        of = f" of {self._total:,}" if self._total else ""
        remark(f"{self._phase}: {self._done:,}{of} {self._unit}")


class JsonProgress(ProgressLines):
    """The same as JSON lines: at the start and end of a phase, and once a second."""

    every = _JSON_EVERY_SECONDS

    def start(self, phase: str, total: int, unit: str) -> None:
        super().start(phase, total, unit)
        self.say()

    def finish(self, _: str) -> None:
        self.say()

    def say(self) -> None:
        state = {"phase": self._phase, "total": self._total, "unit": self._unit}
        _remark_json({**state, "done": self._done})


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:>8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


class ProgressBars:
    """A bar for each phase."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task = TaskID(0)

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        self._task = self._bars.add_task(phase, total=total or None, unit=unit)

    def advance(self, _: str, amount: int) -> None:
        self._bars.advance(self._task, amount)

    def finish(self, _: str) -> None:
        done = self._bars.tasks[self._task].completed or 1
        self._bars.update(self._task, total=done, completed=done)
