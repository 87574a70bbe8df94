"""The client of a server, a cluster or Qdrant Cloud.

A failed call is repeated, on another node if there is one.

Every call of this package is idempotent. Reads change nothing. Point ids follow from generation
and chunk, and deletions name what they delete. A book's record is replaced only if it still has its
last revision, which is random: if the first attempt was applied but its answer was lost, the
repetition does nothing. `Records.put` reads the record back in either case.
"""

import asyncio
import logging
import re
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import cast

import httpx
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server_errors import NODE_ERRORS, NodeError, is_node_failure, server_errors
from app.domain.errors import ConfigError
from app.domain.urls import is_web_address, without_password

_log = logging.getLogger(__name__)

READ_SECONDS = 1.0
"""Time for which a failed read is repeated; short, since a user is waiting."""

WRITE_SECONDS = 15.0
"""Time for which a failed write is repeated. Changes of collections wait for a leader election."""

HEDGE_SECONDS = 0.3
"""A read without an answer after this time is also sent to a second node (hedged request)."""

_TRUSTED_SECONDS = 0.5
"""A node that answered within this time cannot have been restarted since. Any other is first asked
whether it is ready: a restarted node serves old data until it has caught up."""

_PAUSE_SECONDS = 0.05
_READY_SECONDS = 1.0
_NONE_READY = "no node of the cluster is ready"

_WRITES = ("create", "delete", "upsert")
"""What the names of calls that change something begin with."""

_HTTP_PORT = 6333
"""Port that qdrant-client uses if an address has none."""

_GRPC_OPTIONS = {
    # Reconnect to a restarted node at once, without gRPC's exponential backoff.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 200,
}

Send = Callable[[AsyncQdrantClient], Awaitable[object]]
"""One call, which can be made on any node."""


def addresses(url: str) -> list[str]:
    """Split a comma-separated list of addresses; add http:// if missing.

    ConfigError if it is empty or names what is no address.
    """
    found = [
        part if "//" in part else f"http://{part}" for part in re.split(r"[,\s]+", url) if part
    ]
    for address in found or [""]:
        if not is_web_address(address.partition("?")[0]):
            raise ConfigError(
                f"QDRANT_URL: {without_password(address)!r} is not an http or https address: write "
                "http://HOST:6333, or several with commas"
            )
    return found


def public_address(url: str) -> str:
    """Return the addresses without user name, password, path or query."""
    found = map(httpx.URL, addresses(url))
    return ", ".join(f"{one.scheme}://{one.netloc.decode()}" for one in found)


async def is_ready(address: str) -> bool:
    """Whether the node at this URL has caught up with the cluster, by its `/readyz`."""
    limits = httpx.Limits(max_keepalive_connections=0)
    try:
        async with httpx.AsyncClient(timeout=_READY_SECONDS, limits=limits) as client:
            return (await client.get(f"{address}/readyz")).is_success
    except httpx.HTTPError:
        return False


class Nodes:
    """Has the methods of `AsyncQdrantClient`, and calls them on any node that is ready.

    It uses the same node as long as that answers. A failed call is repeated for `READ_SECONDS` or
    `WRITE_SECONDS`; then the last error is raised. Errors for which `is_node_failure` is false are
    raised at once. `server_errors` translates the errors.
    """

    def __init__(
        self, clients: Mapping[str, AsyncQdrantClient], ready: Callable[[str], Awaitable[bool]]
    ) -> None:
        """`clients` are by address; `ready` checks the node at one, if there are others."""
        self._clients = clients
        self._address = public_address(",".join(clients))
        self._ready = ready
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
        def send(client: AsyncQdrantClient) -> Awaitable[object]:
            call: Awaitable[object] = getattr(client, name)(*args, **kwargs)
            return call

        write = name.startswith(_WRITES)
        patience, seconds = (None, WRITE_SECONDS) if write else (HEDGE_SECONDS, READ_SECONDS)
        end = None
        with server_errors(self._address):
            while True:
                try:
                    return await self._ask(send, patience)
                except NODE_ERRORS as error:
                    end = end or time.monotonic() + seconds
                    if not is_node_failure(error) or time.monotonic() >= end:
                        raise
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _ask(self, send: Send, patience: float | None) -> object:
        """Ask the nodes in turn, the next one after a failure or `patience` seconds.

        Return the first answer. If there is none, raise the first failure; what is no failure of a
        node is raised at once.
        """
        nodes = sorted(self._clients, key=lambda one: one != self._current)
        waiting, failures = set[asyncio.Task[object]](), list[NodeError]()
        try:
            while nodes or waiting:
                if nodes:
                    waiting.add(asyncio.create_task(self._ask_node(nodes.pop(0), send)))
                limit = patience if nodes else None
                done, waiting = await asyncio.wait(
                    waiting, timeout=limit, return_when="FIRST_COMPLETED"
                )
                for task in done:
                    try:
                        return task.result()
                    except NODE_ERRORS as error:
                        if not is_node_failure(error):
                            raise
                        failures.append(error)
            raise failures[0]
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _ask_node(self, node: str, send: Send) -> object:
        trusted = node == self._current and time.monotonic() - self._answered <= _TRUSTED_SECONDS
        if len(self._clients) > 1 and not trusted and not await self._ready(node):
            raise ConnectionError(_NONE_READY)
        try:
            answer = await send(self._clients[node])
        except NODE_ERRORS as error:
            if is_node_failure(error) and node == self._current:
                self._current = None
            raise
        self._current, self._answered = node, time.monotonic()
        return answer


def server_client(
    url: str, api_key: str | None, timeout_seconds: int = 30, *, grpc_port: int | None = None
) -> AsyncQdrantClient:
    """Make a client that connects at its first use; close it with `await client.close()`.

    `url` has the addresses of one or more nodes of a cluster, separated by commas. All calls go by
    gRPC, to `grpc_port` on each node: by default the HTTP port plus 1, as in Qdrant (6333, 6334).
    """
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        message = "the key of the Qdrant server has invalid characters: set QDRANT_API_KEY again"
        raise ConfigError(message)

    def connect(address: str) -> AsyncQdrantClient:
        parsed = httpx.URL(address)
        if api_key and parsed.scheme == "http":
            _log.warning("index.key_unencrypted", extra={"server": without_password(address)})
        with warnings.catch_warnings(action="ignore"):  # the same, with a line of the library
            return AsyncQdrantClient(
                url=address,
                api_key=api_key,
                timeout=timeout_seconds,
                check_compatibility=False,
                prefer_grpc=True,
                grpc_port=grpc_port or (parsed.port or _HTTP_PORT) + 1,
                grpc_options=dict(_GRPC_OPTIONS),
            )

    clients = {one: connect(one) for one in addresses(url)}
    return cast("AsyncQdrantClient", Nodes(clients, is_ready))
