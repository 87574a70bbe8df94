"""What the commands print: JSON on stdout alone, progress and remarks on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

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


def print_json(value: Mapping[str, object]) -> None:
    """One object, one line, on stdout."""
    print(json.dumps(value, ensure_ascii=False))


def remark(text: str) -> None:
    print(text, file=sys.stderr)


class TerminalProgress(AbstractContextManager["TerminalProgress"]):
    """Bars on a terminal, one plain line a finished phase elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        console = Console(stderr=True, quiet=quiet)
        self._plain = not console.is_terminal and not quiet
        self._bars = Progress(
            TextColumn("{task.description:>8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, tuple[int, str]] = {}

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
        """`total` 0 means that it is not known yet."""
        self._tasks[phase] = self._bars.add_task(phase, total=total or None, unit=unit)
        self._done[phase] = (0, unit)

    def advance(self, phase: str, amount: int) -> None:
        self._bars.advance(self._tasks[phase], amount)
        done, unit = self._done[phase]
        self._done[phase] = (done + amount, unit)

    def finish(self, phase: str) -> None:
        done, unit = self._done[phase]
        self._bars.update(self._tasks[phase], total=done or 1, completed=done or 1)
        if self._plain:
            remark(f"{phase}: {done} {unit}" if unit else f"{phase}: done")
