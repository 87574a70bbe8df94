"""Output of the commands: results on stdout, progress and messages on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from app.domain.errors import InputError

_LISTED = 20
"""Maximum lines of one kind: a book may have thousands of warnings."""

_EVERY_SECONDS = 10.0


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print one object or array as one line on stdout."""
    print(json.dumps(value, ensure_ascii=False))


def require_folder(path: Path) -> None:
    """InputError unless the file's folder exists. Call it before long work."""
    if not path.parent.is_dir():
        message = f"{path}: the folder {path.parent} does not exist; create it"
        raise InputError(message)


def write_text(path: Path, text: str) -> None:
    """Write a file. InputError if it cannot be written."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}); choose another file"
        raise InputError(message) from error


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def remark_each(prefix: str, lines: Sequence[str]) -> None:
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


@dataclass(slots=True)
class _Phase:
    """A phase of the work; `total` is 0 if unknown."""

    task: TaskID
    total: int
    unit: str
    started: float
    said: float
    done: int = 0

    def line(self, name: str, now: float) -> str:
        seconds = now - self.started
        rate = self.done / seconds if seconds > 0 else 0.0
        if not (self.total and rate):
            return f"{name}: {self.done:,} {self.unit}"
        left = duration(max(0, self.total - self.done) / rate)
        return f"{name}: {self.done:,} of {self.total:,} {self.unit}, {rate:,.0f}/s, {left} left"

    def last_line(self, name: str, now: float) -> str:
        seconds = now - self.started
        if not self.unit:
            return f"{name}: {duration(seconds)}"
        rate = f" ({self.done / seconds:,.0f}/s)" if seconds > 0.05 else ""
        return f"{name}: {self.done:,} {self.unit} in {duration(seconds)}{rate}"


class TerminalProgress(AbstractContextManager["TerminalProgress"]):
    """Progress bars on a terminal; otherwise a line every ten seconds and after each phase."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        console = Console(stderr=True, quiet=quiet)
        self._plain = not console.is_terminal and not quiet
        self._clock = clock
        self._bars = Progress(
            TextColumn("{task.description:>8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            _RateColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._phases: dict[str, _Phase] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        now = self._clock()
        task = self._bars.add_task(phase, total=total or None, unit=unit)
        self._phases[phase] = _Phase(task, total, unit, started=now, said=now)

    def advance(self, phase: str, amount: int) -> None:
        state, now = self._phases[phase], self._clock()
        state.done += amount
        self._bars.advance(state.task, amount)
        if self._plain and now - state.said >= _EVERY_SECONDS:
            state.said = now
            remark(state.line(phase, now))

    def finish(self, phase: str) -> None:
        state = self._phases[phase]
        done = state.done or 1
        self._bars.update(state.task, total=done, completed=done)
        if self._plain:
            remark(state.last_line(phase, self._clock()))


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")
