"""Output of the commands: results on stdout, progress and messages on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
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

from app.cli.printing import remark
from app.domain.errors import InputError, RagError
from app.services.phases import Advance, Phases

_LISTED = 20
"""Maximum lines of one kind: a book may have thousands of warnings."""

_EVERY_SECONDS = 10.0
_JSON_EVERY_SECONDS = 1.0


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print one object or array as one line on stdout."""
    print(json.dumps(value, ensure_ascii=False))


def remark_json(value: Mapping[str, object]) -> None:
    """Print one object as one line on stderr."""
    print(json.dumps(value), file=sys.stderr, flush=True)


def require_writable(path: Path | None) -> None:
    """InputError if the file could not be written; None is no file. Call it before long work."""
    if path is None:
        return
    if not path.parent.is_dir():
        message = f"{path}: the folder {path.parent} does not exist; create it"
        raise InputError(message)
    if path.is_dir():
        message = f"{path}: is a folder; name a file"
        raise InputError(message)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        message = f"{path}: cannot be written (no permission or read-only); choose another file"
        raise InputError(message)


def write_text(path: Path, text: str) -> None:
    """Write a file. InputError if it cannot be written."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror}); choose another file"
        raise InputError(message) from error


def remark_each(prefix: str, lines: Sequence[str]) -> None:
    """Print the first lines, and how many more there are."""
    for line in lines[:_LISTED]:
        remark(f"{prefix}: {line}")
    if len(lines) > _LISTED:
        remark(f"{prefix}: and {len(lines) - _LISTED:,} more (--json lists all)")


def confirmed(question: str) -> bool:
    """Ask on the terminal; any reply but y or yes is a no."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an aligned table; columns after the first one are aligned to the right."""
    lines = [head, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    marks = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    shown = [
        [cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]
        for cells in (head, marks, *lines[1:])
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)


def figure(value: float) -> str:
    """Format a number with about three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{3 if value < 1 else 2 if value < 10 else 0}f}"


def duration(seconds: float) -> str:
    """Format seconds as "1.5 s", "12 min" or "2.0 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def phases(*, quiet: bool = False) -> Iterator[Phases]:
    """Yield the phases of a long run; their progress is shown on stderr."""
    with TerminalProgress(quiet=quiet) as progress:
        yield Phases(progress)


@contextmanager
def errors_as_json() -> Iterator[None]:
    """Print a RagError of this block as JSON on stderr, too."""
    try:
        yield
    except RagError as error:
        remark_json({"error": error.code, "message": str(error)})
        raise


@contextmanager
def asking(questions: Sequence[object]) -> Iterator[Advance]:
    """Show the progress of asking these questions; call the function after each one."""
    with phases() as shown, shown.phase("ask", len(questions), "questions") as advance:
        yield advance


class JsonProgress:
    """Progress as JSON lines on stderr: at the start and end of a phase, and once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said = 0.0
        self._state: dict[str, object] = {}
        self._done = 0

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        self._state, self._done = {"phase": phase, "total": total, "unit": unit}, 0
        self.finish(phase)

    def advance(self, phase: str, amount: int) -> None:
        self._done += amount
        if self._clock() - self._said >= _JSON_EVERY_SECONDS:
            self.finish(phase)

    def finish(self, _: str) -> None:
        self._said = self._clock()
        remark_json({**self._state, "done": self._done})


class TerminalProgress:
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
            get_time=clock,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def start(self, phase: str, total: int, unit: str) -> None:
        """Begin a phase; `total` is 0 if unknown."""
        self._tasks[phase] = self._bars.add_task(
            phase, total=total or None, unit=unit, said=self._clock()
        )

    def advance(self, phase: str, amount: int) -> None:
        self._bars.advance(self._tasks[phase], amount)
        task, now = self._task(phase), self._clock()
        if self._plain and now - task.fields["said"] >= _EVERY_SECONDS:
            task.fields["said"] = now
            remark(f"{phase}: {_so_far(task)}")

    def finish(self, phase: str) -> None:
        task = self._task(phase)
        if self._plain:
            remark(f"{phase}: {_in_all(task)}")
        done = task.completed or 1
        self._bars.update(task.id, total=done, completed=done)

    def _task(self, phase: str) -> Task:
        return self._bars.tasks[self._tasks[phase]]


def _so_far(task: Task) -> str:
    seconds, unit = task.elapsed or 0.0, task.fields["unit"]
    rate = task.completed / seconds if seconds > 0 else 0.0
    if not (task.total and rate):
        return f"{task.completed:,} {unit}"
    left = duration(max(0, task.total - task.completed) / rate)
    return f"{task.completed:,} of {task.total:,} {unit}, {rate:,.0f}/s, {left} left"


def _in_all(task: Task) -> str:
    seconds, unit = task.elapsed or 0.0, task.fields["unit"]
    if not unit:
        return duration(seconds)
    rate = f" ({task.completed / seconds:,.0f}/s)" if seconds > 0.05 else ""
    return f"{task.completed:,} {unit} in {duration(seconds)}{rate}"


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")
