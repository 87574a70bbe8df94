"""Answers in the making: one task each, and its events as bytes, kept a while for who comes back.

An answer is made for as long as somebody reads it: when the last reader leaves, it is cancelled at
once and forgotten. What came to its end is kept for a minute, so that a reader whose connection
broke gets the rest.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from cachetools import TTLCache
from pydantic import BaseModel

from app.api.events import frame, wire_events
from app.api.problems import error_event, report
from app.domain.answer import AnswerEvent, TextDelta
from app.domain.answering.request import AskRequest
from app.domain.errors import ShuttingDown

KEPT_SECONDS = 60.0
MAX_KEPT_BYTES = 16 * 2**20
"""Of all answers together, some 2,000; beyond that the oldest is forgotten early."""
RESTART_SECONDS = 5.0
"""After which a server that is being restarted may answer again."""
_HEARTBEAT = b": still here\n\n"

T = TypeVar("T")


class AnswerRun:
    """One answer. Its generator runs in a task of its own.

    It may hold timeouts and connections that belong to the task which opened them, so it is not
    driven from the task of a response, of which there may be several one after the other.
    """

    def __init__(
        self, ask: AskRequest, events: AsyncIterator[AnswerEvent], request_id: str
    ) -> None:
        """Start, with one reader. `request_id` is of the request that asked, for the log."""
        self.id = secrets.token_hex(8)
        self.ask = ask
        self.frames: list[bytes] = []
        """Its events so far; the first has the id `run:1`."""
        self.ended = False
        """True when no frame will follow."""
        self.task = asyncio.create_task(self._make(events))
        self._request_id = request_id
        self._readers = 1
        self._streaming = False
        self._failure: Exception | None = None
        self._stopped_by: Exception | None = None
        self._news = asyncio.Event()

    @property
    def size(self) -> int:
        """Bytes of its events."""
        return sum(map(len, self.frames))

    @property
    def abandoned(self) -> bool:
        """Whether it was cancelled, or is about to be."""
        return bool(self.task.cancelling())

    @property
    def whole(self) -> bool:
        """Whether it came to an end that a reader can be told: its own or an error."""
        return self.ended and bool(self.frames) and not self.abandoned

    async def begin(self, seconds: float) -> None:
        """Wait for the first event, or so long. Raises what failed before it.

        After that a failure can only be told as an event.
        """
        if not self.frames:
            await self._wait(seconds)
        self._streaming = True
        if self._failure is not None:
            raise self._failure

    def join(self) -> None:
        """Count as one more reader."""
        self._readers += 1

    async def leave(self) -> None:
        """Be a reader no more. The last to leave an answer that has not ended cancels it."""
        self._readers -= 1
        if not self._readers and not self.ended:
            self.task.cancel()
            await asyncio.wait({self.task})

    def stop(self, error: Exception) -> None:
        """End it now; its readers are told this error."""
        if not self.ended:
            self._stopped_by = error
            self.task.cancel()

    async def follow(self, seen: int, heartbeat: float) -> AsyncGenerator[bytes, None]:
        """Yield all frames after the first `seen`, those that are ready at once in one piece.

        A comment line comes out after every `heartbeat` seconds of silence.
        """
        while not self.ended or seen < len(self.frames):
            if seen < len(self.frames):
                ready = self.frames[seen:]
                seen += len(ready)
                yield b"".join(ready)
            elif not await self._wait(heartbeat):
                yield _HEARTBEAT

    async def _wait(self, seconds: float) -> bool:
        """Wait for what comes next; False when nothing does in time."""
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
                for name, data in wire_events(event):
                    self._add(name, data)
                if isinstance(event, TextDelta):
                    # What a provider sent together comes without a wait between: the reader gets
                    # this text before work is done on the next event.
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._stopped_by is None:
                raise
            self.task.uncancel()
            self._fail(self._stopped_by)
        except Exception as error:  # noqa: BLE001 - told to whoever reads
            self._fail(error)
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
            self.ended = True
            self._news.set()

    def _fail(self, error: Exception) -> None:
        if self.frames or self._streaming:
            report(error, self._request_id)
            self._add("error", error_event(error))
        else:
            self._failure = error

    def _add(self, name: str, data: BaseModel) -> None:
        self.frames.append(frame(name, data, f"{self.id}:{len(self.frames) + 1}"))
        self._news.set()


class AnswerRuns:
    """The answers that a reader may come back to: those in the making, those of the last minute."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, max_bytes: int = MAX_KEPT_BYTES
    ) -> None:
        """`clock` gives seconds."""
        self._running: dict[str, AnswerRun] = {}
        self._kept: TTLCache[str, AnswerRun] = TTLCache(
            max_bytes, KEPT_SECONDS, timer=clock, getsizeof=lambda run: run.size
        )
        self._whole: set[asyncio.Future[Any]] = set()
        self._closed = False

    def start(
        self, ask: AskRequest, events: AsyncIterator[AnswerEvent], request_id: str
    ) -> AnswerRun:
        """Begin an answer, with one reader."""
        run = AnswerRun(ask, events, request_id)
        self._running[run.id] = run
        run.task.add_done_callback(lambda _task: self._settle(run))
        return run

    async def unless_closed(self, work: Awaitable[T]) -> T:
        """Return what `work` returns. ShuttingDown when `close` is called first."""
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
        """End what is under way with ShuttingDown: the server does not wait any longer."""
        self._closed = True
        for run in list(self._running.values()):
            run.stop(_shutting_down())
        for task in list(self._whole):
            task.cancel()

    def resume(self, event_id: str, ask: AskRequest) -> tuple[AnswerRun, int] | None:
        """Join the answer that has this event; return it with how many of its events were seen.

        None when it is not kept, any more or at all, or answers something else.
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
