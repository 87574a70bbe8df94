"""Progress of long runs, on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
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
def phases() -> Iterator[Phases]:
    """Yield the phases of a long run: bars on a terminal, else lines, both on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Phases(ProgressLines(remark))
        return
    with _bars(console) as bars:
        yield Phases(ProgressBars(bars))


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too."""
    try:
        yield
    except RagError as error:
        _remark_json({"error": error.code, "message": str(error)})
        raise


def _remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)


class ProgressLines:
    """A line every ten seconds of a phase, and one after it."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds."""
        self._say = say
        self._clock = clock

    def start(self, phase: str, total: int, unit: str) -> None:  # noqa: ARG002 - the port's
        """Begin a phase; `total` is 0 if unknown."""
        self._began = self._said = self._clock()
        self._done, self._total, self._unit = 0, total, unit

    def advance(self, phase: str, amount: int) -> None:
        self._done += amount
        if self._clock() - self._said >= _EVERY_SECONDS:
            self._said = self._clock()
            self._say(f"{phase}: {self._so_far(self._said - self._began)}")

    def finish(self, phase: str) -> None:
        seconds = self._clock() - self._began
        in_all = f"{self._done:,} {self._unit} in " if self._unit else ""
        self._say(f"{phase}: {in_all}{duration(seconds)}")

    def _so_far(self, seconds: float) -> str:
        if not self._total:
            return f"{self._done:,} {self._unit}"
        left = duration(max(0, self._total - self._done) * seconds / self._done)
        return f"{self._done:,} of {self._total:,} {self._unit}, {left} left"


class JsonProgress:
    """Progress as JSON lines on stderr: at the start and end of a phase, and once a second."""

    def __init__(self) -> None:
        self._said = 0.0
        self._state: dict[str, object] = {}
        self._done = 0

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        self._state, self._done = {"phase": phase, "total": total, "unit": unit}, 0
        self.finish(phase)

    def advance(self, phase: str, amount: int) -> None:
        self._done += amount
        if time.monotonic() - self._said >= _JSON_EVERY_SECONDS:
            self.finish(phase)

    def finish(self, _: str) -> None:
        self._said = time.monotonic()
        _remark_json({**self._state, "done": self._done})


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
