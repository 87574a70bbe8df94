"""A clock for tests that jumps to the next sleeper's time once nothing else is going on."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class VirtualClock:
    """Give `now` and `sleep` to the code under test."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._driver: asyncio.Task[None] | None = None

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._order), awake))
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        await awake

    async def _drive(self) -> None:
        while self._sleepers:
            for _ in range(20):  # the tasks that are ready run first
                await asyncio.sleep(0)
            when, _, awake = heapq.heappop(self._sleepers)
            if not awake.done():
                self.time = max(self.time, when)
                awake.set_result(None)
