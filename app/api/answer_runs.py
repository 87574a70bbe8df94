"""Answers that are being generated or were finished within a minute, as server-sent events.

When the last reader of an unfinished answer leaves, the answer is cancelled and dropped. A finished
answer is kept for a minute, so that a reader whose connection broke can get the rest.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, TypeVar

from cachetools import TTLCache

from app.api.events import EventFormat
from app.api.problems import ErrorEvent, error_event, report
from app.domain.answer import AnswerEvent, TextDelta
from app.domain.answering.request import AskRequest
from app.domain.errors import ShuttingDown

KEPT_SECONDS = 60.0
MAX_KEPT_BYTES = 16 * 2**20
"""Maximum bytes of all kept answers, about 2,000 answers; the oldest are dropped first."""
RESTART_SECONDS = 5.0
"""Retry-After of an answer that the shutdown interrupted."""
_HEARTBEAT = b": still here\n\n"

T = TypeVar("T")


class AnswerRun:
    """One answer, generated in a separate task.

    The task of a response cannot run the generator: its timeouts and connections belong to the task
    that opened them, but several responses, one after another, may read one answer.
    """

    def __init__(
        self, ask: AskRequest, events: AsyncIterator[AnswerEvent], event_format: EventFormat
    ) -> None:
        """Start the task, with one reader."""
        self.id = secrets.token_hex(8)
        self.ask = ask
        self.frames: list[bytes] = []
        """The events so far, encoded; their ids are `<id>:1`, `<id>:2`, ..."""
        self.ended = False
        """Whether no more frames will follow."""
        self.event_format = event_format
        self._ids = (f"{self.id}:{number}" for number in count(1))
        self.task = asyncio.create_task(self._make(events))
        self._readers = 1
        self._streaming = False
        self._failure: Exception | None = None
        self._stopped_by: Exception | None = None
        self._news = asyncio.Event()

    @property
    def size(self) -> int:
        """Size of the events in bytes."""
        return sum(map(len, self.frames))

    @property
    def abandoned(self) -> bool:
        """Whether cancellation of the task was requested."""
        return bool(self.task.cancelling())

    @property
    def whole(self) -> bool:
        """Whether the answer ended with a final event or an error event."""
        return self.ended and bool(self.frames) and not self.abandoned

    async def begin(self, seconds: float) -> None:
        """Wait up to `seconds` for the first event; raise the error if the answer fails before.

        Later errors become events.
        """
        if not self.frames:
            await self._wait(seconds)
        self._streaming = True
        if self._failure is not None:
            raise self._failure

    def join(self) -> None:
        """Add a reader."""
        self._readers += 1

    async def leave(self) -> None:
        """Remove a reader; cancel an unfinished answer when its last reader leaves."""
        self._readers -= 1
        if not self._readers and not self.ended:
            self.task.cancel()
            await asyncio.wait({self.task})

    def stop(self, error: Exception) -> None:
        """Cancel the answer; its readers get `error` as the last event."""
        if not self.ended:
            self._stopped_by = error
            self.task.cancel()

    async def follow(self, seen: int, heartbeat: float) -> AsyncGenerator[bytes, None]:
        """Yield the frames after the first `seen`; frames that are ready are joined.

        After every `heartbeat` seconds without a frame, yield a comment line.
        """
        while not self.ended or seen < len(self.frames):
            if seen < len(self.frames):
                ready = self.frames[seen:]
                seen += len(ready)
                yield b"".join(ready)
            elif not await self._wait(heartbeat):
                yield _HEARTBEAT

    async def _wait(self, seconds: float) -> bool:
        """Wait for the next frame or the end; return False on timeout."""
        if self.ended:
            return True
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    async def _make(self, events: AsyncIterator[AnswerEvent]) -> None:
        try:
            async for event in events:
                self._add(event)
                if isinstance(event, TextDelta):
                    # Events that a provider sent together arrive without a pause. Yield to the
                    # event loop, so the reader gets this text before the next event is processed.
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._stopped_by is None:
                raise
            self.task.uncancel()
            self._fail(self._stopped_by)
        except Exception as error:  # noqa: BLE001 - sent to the readers
            self._fail(error)
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
            self.ended = True
            self._news.set()

    def _fail(self, error: Exception) -> None:
        if self.frames or self._streaming:
            report(error)
            self._add(error_event(error))
        else:
            self._failure = error

    def _add(self, event: AnswerEvent | ErrorEvent) -> None:
        self.frames.extend(self.event_format.frames(event, self._ids))
        self._news.set()


class AnswerRuns:
    """Answers that a reader can resume: unfinished ones, and those finished within a minute."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        max_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        """`clock` gives seconds; `max_bytes` limits the finished answers."""
        self._running: dict[str, AnswerRun] = {}
        self._kept: TTLCache[str, AnswerRun] = TTLCache(
            max_bytes, KEPT_SECONDS, timer=clock, getsizeof=lambda run: run.size
        )
        self._whole: set[asyncio.Future[Any]] = set()
        self._closed = False

    def start(
        self, ask: AskRequest, events: AsyncIterator[AnswerEvent], event_format: EventFormat
    ) -> AnswerRun:
        """Start an answer, with one reader."""
        run = AnswerRun(ask, events, event_format)
        self._running[run.id] = run
        run.task.add_done_callback(lambda _task: self._settle(run))
        return run

    async def unless_closed(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. Raises ShuttingDown if `close` is called first."""
        task = asyncio.ensure_future(work)
        self._whole.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._closed:
                raise _shutting_down() from None
            raise
        finally:
            self._whole.discard(task)

    def close(self) -> None:
        """End all answers, and all calls of `unless_closed`, with ShuttingDown."""
        self._closed = True
        for run in list(self._running.values()):
            run.stop(_shutting_down())
        for task in list(self._whole):
            task.cancel()

    @property
    def open(self) -> int:
        """Number of unfinished answers."""
        return len(self._running)

    def resume(self, event_id: str, ask: AskRequest) -> tuple[AnswerRun, int] | None:
        """Join the answer with this event; return it and the number of events already seen.

        None if the answer is not kept, or if `ask` is another question than it answers.
        """
        name, _, count = event_id.rpartition(":")
        run = self._running.get(name) or self._kept.get(name)
        seen = int(count) if count.isascii() and count.isdigit() and len(count) < 9 else -1
        if run is None or run.abandoned or run.ask != ask or not 0 <= seen <= len(run.frames):
            return None
        run.join()
        return run, seen

    def _settle(self, run: AnswerRun) -> None:
        del self._running[run.id]
        if run.whole and run.size <= self._kept.maxsize:
            self._kept[run.id] = run


def _shutting_down() -> ShuttingDown:
    return ShuttingDown("the server ended before the answer did", RESTART_SECONDS)
