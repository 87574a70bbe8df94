"""What one connection may take, and how the server ends: what uvicorn has no setting for.

A reverse proxy does much of this (specs/001-textbook-rag/operations.md), but the server must not
depend on one to stay up.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from socket import socket
from typing import Any, cast
from uuid import uuid4

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from app.api.answer_runs import AnswerRuns
from app.api.clients import is_one_of, site, trusted_proxies
from app.api.problems import problem_response, title_of
from app.api.security import MAX_HEAD_BYTES
from app.api.shares import Shares
from app.settings import Settings

HEAD_SECONDS = 10.0
"""For a request's head to be there, from the connection's or its own first byte on."""
KEEP_ALIVE_SECONDS = 15
"""Between two requests of a connection."""
TAKE_SECONDS = 30.0
"""For the client to take what was sent: 64 KiB, or the rest once the connection is to close."""
LINGER_SECONDS = 2.0
"""For a client to read its refusal while it still sends; a reset would take that from it."""
LINGER_BYTES = 2**20
"""Thrown away meanwhile."""
BACKLOG = 256
"""Connections that the system holds until they are accepted, all of them in one go."""
LAST_SECONDS = 5.0
"""From the end of a shutdown's patience to that of the process."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    places: Shares
    trusted: list[str]
    """Networks of proxies, whose connections are of many clients."""
    head_seconds: float = HEAD_SECONDS
    take_seconds: float = TAKE_SECONDS


class _Closable:
    """A transport that leaves it to its protocol how it is closed."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close
        self.lingers = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the transport has it
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self.lingers or self._transport.is_closing()


class BoundedConnection(H11Protocol):
    """A connection that has a place, sends its requests in time and takes its responses in time."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._place: str | None = None
        self._lingered = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._take_timer: asyncio.TimerHandle | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._socket = transport
        self._closable = _Closable(transport, self._close)
        self.transport = cast("asyncio.Transport", self._closable)
        address = self.client[0] if self.client else ""
        shared = not is_one_of(address, self._limits.trusted)
        if self._limits.places.take(site(address), shared=shared):
            self._place = site(address)
            self._expect_head()
        else:
            self._refuse(503, "overloaded", "too many connections are open", retry_after=1.0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        if self._take_timer is not None:
            self._take_timer.cancel()
        if self._place is not None:
            self._limits.places.release(self._place)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._closable.lingers:
            self._lingered += len(data)
            if self._lingered > LINGER_BYTES:
                self._socket.abort()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._expect_nothing()
        elif self._head_timer is None and not self.transport.is_closing():
            self._expect_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._abort_after(self._limits.take_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._take_timer is not None and not self.transport.is_closing():
            self._take_timer.cancel()

    # uvicorn's side

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            # The rest of a body that nobody wants would be read for as long as it comes.
            self.server_state.total_requests += 1
            self._close()
            return
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """Called while the error of h11, which knows a better status, is being handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        code = title_of(status).lower().replace(" ", "_")
        self._refuse(status, code, "this is not an HTTP request that the server understands")

    # ours

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self._no_head)

    def _expect_nothing(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _no_head(self) -> None:
        if self.conn.trailing_data[0]:
            seconds = self._limits.head_seconds
            detail = f"the request's head was not there within {seconds:g} s"
            self._refuse(408, "request_timeout", detail)
        else:
            self._close()

    def _refuse(
        self, status: int, code: str, detail: str, *, retry_after: float | None = None
    ) -> None:
        """Send a problem that belongs to no request, unless a response has begun, and close."""
        cycle = self.cycle
        under_way = cycle is not None and not cycle.response_complete
        if under_way:
            cycle.disconnected = True
            cycle.message_event.set()
        if under_way and cycle.response_started:
            self.transport.abort()
            return
        request_id = uuid4().hex[:16]
        problem = problem_response(status, code, detail, request_id, retry_after=retry_after)
        problem.headers["Connection"] = "close"
        problem.headers["X-Request-ID"] = request_id
        lines = [f"HTTP/1.1 {status} {title_of(status)}".encode()]
        lines += [name + b": " + value for name, value in problem.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(problem.body)]))
        self._close()

    def _close(self) -> None:
        self._expect_nothing()
        if self.transport.is_closing():
            return
        unread = self.conn.their_state in {h11.SEND_BODY, h11.ERROR}
        if unread and self._place is not None:
            self._closable.lingers = True
            self._socket.write_eof()
            self._socket.resume_reading()
            self._abort_after(LINGER_SECONDS)
        else:
            self._socket.close()
            self._abort_after(self._limits.take_seconds)

    def _abort_after(self, seconds: float) -> None:
        """Unless the connection is gone, or the client takes what it is sent, by then."""
        if self._take_timer is not None:
            self._take_timer.cancel()
        self._take_timer = self.loop.call_later(seconds, self._socket.abort)


class StoppingServer(uvicorn.Server):
    """Ends the answers under way, after a time, when it is stopped."""

    def __init__(self, config: uvicorn.Config, seconds: float, stop: Callable[[], None]) -> None:
        """`stop` is called after so many seconds of the shutdown."""
        super().__init__(config)
        self._seconds = seconds
        self._stop = stop

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        patience = asyncio.get_running_loop().call_later(self._seconds, self._stop)
        try:
            await super().shutdown(sockets)
        finally:
            patience.cancel()


def server(web: FastAPI, settings: Settings) -> StoppingServer:
    """Return the server of the application as `app.main` makes it. Raises ConfigError."""
    descriptors = raised_descriptor_limit()
    places = Shares(max(2, min(settings.max_connections, descriptors // 2)))
    limits = ConnectionLimits(places, trusted_proxies(settings.trusted_proxies))
    config = uvicorn.Config(
        web,
        host=settings.host,
        port=settings.port,
        http=cast("type[asyncio.Protocol]", partial(BoundedConnection, limits=limits)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application's own: it knows whom to trust
        # A refused connection keeps its descriptor for some turns of the loop, and each accepts.
        backlog=min(BACKLOG, max(1, descriptors // 8)),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.shutdown_seconds + LAST_SECONDS),
        h11_max_incomplete_event_size=2 * MAX_HEAD_BYTES,
    )

    def stop() -> None:
        runs: AnswerRuns = web.state.answer_runs
        runs.close()

    return StoppingServer(config, settings.shutdown_seconds, stop)


def raised_descriptor_limit() -> int:
    """Let the process open as many files as it may, and return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS allows less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else sys.maxsize
