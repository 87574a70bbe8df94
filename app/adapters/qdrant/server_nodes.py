"""Requests to a cluster: what fails on one node is asked of the next.

Every request of this package may be sent twice. Reads change nothing. Points have ids that follow
from generation and chunk, and deletions name what they delete. A book's record is replaced on
condition of its last revision, which is random: a write that was applied unnoticed makes its
repetition a no-op, and `Records.replace` reads the record back either way.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

import httpx

from app.domain.errors import ConfigError

READ_SECONDS = 1.0
"""A read that failed is sent again for so long. No more, as a reader waits."""

WRITE_SECONDS = 15.0
"""Also for changes of collections, which wait for the cluster to elect a leader."""

HEDGE_SECONDS = 0.3
"""A read without an answer for so long is sent to a second node too; the first answer is taken."""

_TRUSTED_SECONDS = 0.5
"""A node that answered so lately cannot have been restarted since. Any other is asked whether it
is ready: one that has just come back serves what it held when it went, until it has caught up."""

_PAUSE_SECONDS = 0.05
_CONNECT_SECONDS = 1.0

_READS = ("/points", "/scroll", "/query", "/query/batch", "/count")

T = TypeVar("T")

Outcome = httpx.Response | httpx.TransportError


def addresses(url: str) -> list[str]:
    """The addresses in a comma-separated list, each with a scheme. ConfigError if there is none."""
    found = [
        part if "//" in part else f"http://{part}" for part in re.split(r"[,\s]+", url) if part
    ]
    if not found:
        message = "QDRANT_URL has no address"
        raise ConfigError(message)
    return found


class Nodes(httpx.AsyncBaseTransport):
    """Sends a request to any node of a cluster that is ready, and stays with it while it answers.

    A request that failed is sent again for `READ_SECONDS` or `WRITE_SECONDS`; then the last failure
    is raised or returned. Failures are lost connections, time-outs and the statuses 408 and 5xx.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        inner: httpx.AsyncBaseTransport,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Of nodes at these URLs; `inner` sends, `clock` gives seconds."""
        self._nodes = [httpx.URL(address) for address in addresses]
        self._inner = inner
        self._clock = clock
        self._current: httpx.URL | None = None
        self._answered = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        outcome = await self._ask(request)
        end = self._clock() + (READ_SECONDS if _is_read(request) else WRITE_SECONDS)
        while _is_failure(outcome) and self._clock() < end:
            await asyncio.sleep(_PAUSE_SECONDS)
            outcome = await self._ask(request)
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _ask(self, request: httpx.Request) -> Outcome:
        """The answer of a node; for a read the first success of one or two, else a failure."""
        if not _is_read(request):
            return await self._once(request)
        tasks = {asyncio.create_task(self._once(request))}
        try:
            done, _ = await asyncio.wait(tasks, timeout=HEDGE_SECONDS)
            if not done:
                tasks.add(asyncio.create_task(self._once(request, without=self._current)))
            for finished in asyncio.as_completed(tasks):
                if not _is_failure(outcome := await finished):
                    break
            return outcome
        finally:
            await _cancel(tasks)

    async def _once(self, request: httpx.Request, without: httpx.URL | None = None) -> Outcome:
        node = self._current
        if node is None or node == without or self._clock() - self._answered > _TRUSTED_SECONDS:
            node = await self._first_ready(without)
        if node is None:
            return httpx.ConnectError("no node of the cluster is ready", request=request)
        outcome = await self._send(node, request)
        if not _is_failure(outcome):
            self._current, self._answered = node, self._clock()
        elif node == self._current:
            self._current = None
        return outcome

    async def _first_ready(self, without: httpx.URL | None) -> httpx.URL | None:
        """The node that is first to say that it holds what the cluster holds."""
        tasks = {
            asyncio.create_task(self._is_ready(node)) for node in self._nodes if node != without
        }
        try:
            for finished in asyncio.as_completed(tasks):
                if node := await finished:
                    return node
            return None
        finally:
            await _cancel(tasks)

    async def _is_ready(self, node: httpx.URL) -> httpx.URL | None:
        limits = httpx.Timeout(_CONNECT_SECONDS).as_dict()
        request = httpx.Request("GET", "http://node/readyz", extensions={"timeout": limits})
        outcome = await self._send(node, request)
        ready = isinstance(outcome, httpx.Response) and outcome.is_success
        return node if ready else None

    async def _send(self, node: httpx.URL, request: httpx.Request) -> Outcome:
        timeout = dict(request.extensions.get("timeout", {}))
        timeout["connect"] = min(timeout.get("connect") or _CONNECT_SECONDS, _CONNECT_SECONDS)
        url = request.url.copy_with(scheme=node.scheme, host=node.host, port=node.port)
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        copy = httpx.Request(
            request.method,
            url,
            headers=headers,
            content=request.content if request.method != "GET" else None,
            extensions={**request.extensions, "timeout": timeout},
        )
        try:
            response = await self._inner.handle_async_request(copy)
            # Whole and as it came, not decoded: a connection can also be lost within an answer.
            stream = cast("httpx.AsyncByteStream", response.stream)
            content = b"".join([part async for part in stream])
            await response.aclose()
        except httpx.TransportError as error:
            return error
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=httpx.ByteStream(content),
            extensions=response.extensions,
        )


def _is_read(request: httpx.Request) -> bool:
    return request.method == "GET" or (
        request.method == "POST" and request.url.path.endswith(_READS)
    )


def _is_failure(outcome: Outcome) -> bool:
    return not isinstance(outcome, httpx.Response) or (
        outcome.status_code == httpx.codes.REQUEST_TIMEOUT or outcome.is_server_error
    )


async def _cancel(tasks: Iterable[asyncio.Task[T]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
