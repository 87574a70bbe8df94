"""Phases of a long run, reported as progress and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol, TypeAlias

Advance: TypeAlias = Callable[[int], None]


def ignore(_: int) -> None:
    """An `Advance` that does nothing."""


class ProgressReporter(Protocol):
    """Reports the progress of a long run; the command line draws it."""

    def start(self, phase: str, total: int, unit: str) -> None: ...

    def advance(self, phase: str, amount: int) -> None: ...

    def finish(self, phase: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Phases:
    """Runs phases; `seconds` gets the duration of each one that ended."""

    progress: ProgressReporter
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, total: int = 0, unit: str = "") -> Iterator[Advance]:
        """Yield a function to call with the amount done; `total` 0 means unknown."""
        self.progress.start(name, total, unit)
        started = perf_counter()
        yield lambda amount: self.progress.advance(name, amount)
        self.seconds[name] = round(perf_counter() - started, 3)
        self.progress.finish(name)
