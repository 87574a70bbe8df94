"""Ingests run by a server, one at a time, with their state and progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, RagError

State: TypeAlias = Literal["running", "done", "failed"]
Report: TypeAlias = Mapping[str, object]
"""As `textbook-rag ingest --json` prints it."""


@dataclass(frozen=True, slots=True)
class JobState:
    book: BookId
    state: State
    started_at: datetime
    """In UTC, like `ended_at`."""
    ended_at: datetime | None = None
    phase: str = ""
    done: int = 0
    total: int = 0
    """0 if unknown."""
    unit: str = ""
    report: Report | None = None
    error: RagError | None = None


ReportProgress: TypeAlias = Callable[[str, int, int, str], None]
"""Takes phase, done, total and unit."""
Work: TypeAlias = Callable[[ReportProgress], Awaitable[Report]]


@dataclass(slots=True)
class IngestJobs:
    """Runs one ingest at a time, and keeps the state of the last one of each book."""

    _states: dict[BookId, JobState] = field(default_factory=dict, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set at the next change of a state."""

    def require_free(self) -> None:
        """Raise IndexBusy while a job runs."""
        if self._task is not None and not self._task.done():
            message = "an ingest is running: a server runs one at a time"
            raise IndexBusy(message)

    def start(self, book: BookId, work: Work, last: Callable[[], None]) -> JobState:
        """Start a job; `last` is called at its end. Raises IndexBusy."""
        self.require_free()
        self._states[book] = JobState(book, "running", datetime.now(UTC))
        self._task = asyncio.create_task(self._run(book, work, last))
        return self._states[book]

    def state(self, book: BookId) -> JobState | None:
        """Return the state of the book's last job of this server; None if there is none."""
        return self._states.get(book)

    async def follow(self, book: BookId) -> AsyncGenerator[JobState, None]:
        """Yield the state at each change, the last one when the job has ended."""
        seen: JobState | None = None
        while (state := self._states.get(book)) is not None:
            if state is not seen:
                seen = state
                yield state
            if state.state != "running":
                return
            if self._states.get(book) is seen:
                await self._changed.wait()

    async def close(self) -> None:
        """Cancel the running job; the index stays as it was."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self, book: BookId, work: Work, last: Callable[[], None]) -> None:
        def report(phase: str, done: int, total: int, unit: str) -> None:
            self._change(book, phase=phase, done=done, total=total, unit=unit)

        ended: dict[str, object] = {"state": "failed"}
        try:
            ended = {"state": "done", "report": await work(report)}
        except RagError as error:
            ended["error"] = error
        except asyncio.CancelledError:
            ended["error"] = IndexBusy("the server stopped before the ingest ended")
            raise
        except Exception:
            ended["error"] = RagError("the ingest failed unexpectedly")
            raise
        finally:
            last()
            self._change(book, ended_at=datetime.now(UTC), **ended)

    def _change(self, book: BookId, **fields: object) -> None:
        self._states[book] = replace(self._states[book], **fields)  # type: ignore[arg-type]
        self._changed.set()
        self._changed = asyncio.Event()
