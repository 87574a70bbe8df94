"""Calls to a server or a cluster: what fails is sent again, to the next node where there is one.

Every call of this package may be sent twice. Reads change nothing. Points have ids that follow
from generation and chunk, and deletions name what they delete. A book's record is replaced on
condition of its last revision, which is random: a write that was applied unnoticed makes its
repetition a no-op, and `Records.replace` reads the record back either way.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

import httpx
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server_errors import is_node_failure
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
_READY_SECONDS = 1.0

_READS = frozenset(
    (
        "collection_exists",
        "count",
        "get_aliases",
        "get_collection",
        "get_collections",
        "info",
        "query_batch_points",
        "retrieve",
        "scroll",
    )
)

T = TypeVar("T")

Send = Callable[[AsyncQdrantClient], Awaitable[object]]
"""One call, to be made on any node."""


class NoNodeReady(ConnectionError):
    """No node of the cluster is ready."""


class _Failed:
    """The failure of one node; another node may succeed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def addresses(url: str) -> list[str]:
    """The addresses in a comma-separated list, each with a scheme. ConfigError if there is none."""
    found = [
        part if "//" in part else f"http://{part}" for part in re.split(r"[,\s]+", url) if part
    ]
    if not found:
        message = "QDRANT_URL has no address"
        raise ConfigError(message)
    return found


async def is_ready(address: str) -> bool:
    """Whether the node at this URL holds what the cluster holds, by its `/readyz`."""
    limits = httpx.Limits(max_keepalive_connections=0)
    try:
        async with httpx.AsyncClient(timeout=_READY_SECONDS, limits=limits) as client:
            return (await client.get(f"{address}/readyz")).is_success
    except httpx.HTTPError:
        return False


class Nodes:
    """Has the methods of `AsyncQdrantClient`, and calls them on any node that is ready.

    It stays with a node while that answers. A call that failed is sent again for `READ_SECONDS` or
    `WRITE_SECONDS`; then the last failure is raised. `is_node_failure` tells failures of a node
    from refusals.
    """

    def __init__(
        self,
        clients: Mapping[str, AsyncQdrantClient],
        ready: Callable[[str], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clients` by the node's address; `ready` asks a node; `clock` gives seconds."""
        self._clients = clients
        self._ready = ready
        self._clock = clock
        self._current: str | None = None
        self._answered = 0.0

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, name)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def _call(self, name: str, *args: object, **kwargs: object) -> object:
        read = name in _READS

        def send(client: AsyncQdrantClient) -> Awaitable[object]:
            call: Awaitable[object] = getattr(client, name)(*args, **kwargs)
            return call

        ask = self._hedged if read else self._once
        outcome = await ask(send)
        end = self._clock() + (READ_SECONDS if read else WRITE_SECONDS)
        while isinstance(outcome, _Failed) and self._clock() < end:
            await asyncio.sleep(_PAUSE_SECONDS)
            outcome = await ask(send)
        if isinstance(outcome, _Failed):
            raise outcome.error
        return outcome

    async def _hedged(self, send: Send) -> object:
        """The first success of one or two nodes, else a failure."""
        tasks = {asyncio.create_task(self._once(send))}
        try:
            done, _ = await asyncio.wait(tasks, timeout=HEDGE_SECONDS)
            if not done:
                tasks.add(asyncio.create_task(self._once(send, without=self._current)))
            for finished in asyncio.as_completed(tasks):
                if not isinstance(outcome := await finished, _Failed):
                    break
            return outcome
        finally:
            await _cancel(tasks)

    async def _once(
        self,
        send: Send,
        without: str | None = None,
    ) -> object:
        node = self._current
        if node is None or node == without or self._clock() - self._answered > _TRUSTED_SECONDS:
            node = await self._first_ready(without)
        if node is None:
            return _Failed(NoNodeReady("no node of the cluster is ready"))
        try:
            answer = await send(self._clients[node])
        except Exception as error:
            if not is_node_failure(error):
                raise
            if node == self._current:
                self._current = None
            return _Failed(error)
        self._current, self._answered = node, self._clock()
        return answer

    async def _first_ready(self, without: str | None) -> str | None:
        """The node that is first to say that it holds what the cluster holds."""

        async def ask(node: str) -> str | None:
            return node if await self._ready(node) else None

        tasks = {asyncio.create_task(ask(node)) for node in self._clients if node != without}
        try:
            for finished in asyncio.as_completed(tasks):
                if node := await finished:
                    return node
            return None
        finally:
            await _cancel(tasks)


async def _cancel(tasks: Iterable[asyncio.Task[T]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
