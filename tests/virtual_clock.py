"""A clock for tests that jumps to the next sleeper's time once nothing else is going on."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

import httpx


class VirtualClock:
    """Give `now` and `sleep` to the code under test and `transport` to its HTTP client.

    Time stands still while a request is under way, so it is what the code decided to wait and
    never how slow this machine is.
    """

    def __init__(self) -> None:
        self.time = 1_000.0
        self.slept: list[float] = []
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._requests = 0
        self._driver: asyncio.Task[None] | None = None

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._order), awake))
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        await awake

    def transport(self) -> httpx.AsyncBaseTransport:
        return _CountingTransport(self)

    async def _drive(self) -> None:
        while self._sleepers:
            if not await self._idle():
                await asyncio.sleep(0.001)
                continue
            when, _, awake = heapq.heappop(self._sleepers)
            if not awake.done():
                self.time = max(self.time, when)
                awake.set_result(None)

    async def _idle(self) -> bool:
        """No request under way, nor about to be once the tasks that are ready have run."""
        for _ in range(20):
            if self._requests:
                return False
            await asyncio.sleep(0)
        return True


class _CountingTransport(httpx.AsyncHTTPTransport):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._clock._requests += 1
        try:
            response = await super().handle_async_request(request)
            body = httpx.ByteStream(await response.aread())
            return httpx.Response(response.status_code, headers=response.headers, stream=body)
        finally:
            self._clock._requests -= 1
