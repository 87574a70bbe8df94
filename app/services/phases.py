"""Phases of a long run, reported as progress and timed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeAlias

Advance: TypeAlias = Callable[[int], None]


def ignore(_: object) -> None:
    """Do nothing with a report or an amount."""


@dataclass(slots=True)
class Phase:
    """A part of a run while it goes on."""

    name: str
    total: int
    """In `unit`; 0 if unknown."""
    unit: str
    done: int = 0
    seconds: float = 0.0
    """Since its beginning, when it is reported as 0."""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Phases:
    """Runs phases; `seconds` gets the duration of each one that ended."""

    report: Callable[[Phase], None] = ignore
    """Called at the beginning of a phase, after every advance and at the end."""
    clock: Callable[[], float] = perf_counter
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, total: int = 0, unit: str = "") -> Iterator[Advance]:
        """Yield a function to call with the amount done."""
        phase, started = Phase(name, total, unit), self.clock()
        self.report(phase)

        def advance(amount: int) -> None:
            phase.done += amount
            phase.seconds = self.clock() - started
            self.report(phase)

        yield advance
        phase.ended = True
        advance(0)
        self.seconds[name] = round(phase.seconds, 3)
