"""The phases of a long run: each is told to who watches, and timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from app.services.ports import ProgressReporter

Advance: TypeAlias = Callable[[int], None]


def ignore(_: int) -> None:
    """Advance when nobody watches."""


@dataclass(frozen=True, slots=True)
class Phases:
    """`seconds` is filled as phases end, in their order."""

    progress: ProgressReporter
    clock: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, total: int = 0, unit: str = "") -> Iterator[Advance]:
        """Yield what is to be called with the amount done; `total` 0 means not known yet."""
        self.progress.start(name, total, unit)
        started = self.clock()
        yield lambda amount: self.progress.advance(name, amount)
        self.seconds[name] = round(self.clock() - started, 3)
        self.progress.finish(name)
