"""Limits on connections; uvicorn has no settings for them.

A reverse proxy has similar limits (specs/001-textbook-rag/operations.md), but the server must
withstand abuse without one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from app.api.limits import is_one_of, site
from app.api.problems import code_of, problem_response, title_of
from app.api.security import CLOSE
from app.services.recording import recording

HEAD_SECONDS = 10.0
"""Time limit for a request's head, from the start of the connection or the head's first byte."""
READ_SECONDS = 30.0
"""Time limit for the client to read 64 KiB of the response, or its rest when closing."""
LINGER_SECONDS = 2.0
"""Time for a client that is still sending to read its error response. Closing at once would reset
the connection and discard the response."""
LINGER_BYTES = 2**20
"""Maximum bytes that are read and discarded during this time."""


@dataclass(slots=True)
class FairSlots:
    """`total` slots, shared fairly by clients.

    A client gets another slot only if it holds fewer slots than are free. So one client gets at
    most half of the slots, two clients a third each, and a new client finds a free slot. The slots
    run out only with about as many clients as slots. See Choudhury and Hahne, "Dynamic queue length
    thresholds for shared-memory packet switches", 1998.
    """

    total: int
    _held: Counter[str] = field(default_factory=Counter, init=False)

    @property
    def free(self) -> int:
        return self.total - self._held.total()

    def take(self, client: str, *, shared: bool = True) -> bool:
        """Try to take a slot; return whether the client got one. The caller must `release` it.

        With `shared` False, for a trusted proxy, the client may take every free slot.
        """
        if self.free <= (self._held.get(client, 0) if shared else 0):
            return False
        self._held[client] += 1
        return True

    def release(self, client: str) -> None:
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    connections: FairSlots
    trusted: list[str]
    """Networks of trusted proxies; their connections belong to many clients."""
    head_seconds: float = HEAD_SECONDS
    read_seconds: float = READ_SECONDS


class _ProtocolClosedTransport:
    """A transport whose `close` is replaced by the protocol's `_close`."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport = transport
        self.close = close
        self.lingers = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the transport
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self.lingers or self._transport.is_closing()


class BoundedConnection(H11Protocol):
    """A connection with a slot and time limits for requests and responses."""

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
        self._client_slot: str | None = None
        self._lingered = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    # Called by asyncio.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._socket = transport
        self._closing_transport = _ProtocolClosedTransport(transport, self._close)
        self.transport = cast("asyncio.Transport", self._closing_transport)
        address = self.client[0] if self.client else ""
        shared = not is_one_of(address, self._limits.trusted)
        if self._limits.connections.take(site(address), shared=shared):
            self._client_slot = site(address)
            self._start_head_timer()
        else:
            self._refuse(503, "overloaded", "too many connections are open", retry_after=1.0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        if self._read_timer is not None:
            self._read_timer.cancel()
        if self._client_slot is not None:
            self._limits.connections.release(self._client_slot)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._closing_transport.lingers:
            self._lingered += len(data)
            if self._lingered > LINGER_BYTES:
                self._socket.abort()
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._cancel_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._start_head_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._abort_after(self._limits.read_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None and not self.transport.is_closing():
            self._read_timer.cancel()

    # Called by uvicorn.

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            # Otherwise uvicorn would read the rest of a refused body.
            self.server_state.total_requests += 1
            self._close()
            return
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """Refuse an invalid request, with the status of the h11 error that is being handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(status, code_of(status), "this is not a valid HTTP request")

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        if self.conn.trailing_data[0]:
            seconds = self._limits.head_seconds
            detail = f"the request's head did not arrive within {seconds:g} s"
            self._refuse(408, "request_timeout", detail)
        else:
            self._close()

    def _refuse(
        self, status: int, code: str, detail: str, *, retry_after: float | None = None
    ) -> None:
        """Send a problem response and close; if another response has begun, abort it."""
        cycle = self.cycle
        under_way = cycle is not None and not cycle.response_complete
        if under_way:
            cycle.disconnected = True
            cycle.message_event.set()
        if under_way and cycle.response_started:
            self.transport.abort()
            return
        with recording(uuid4().hex[:16]) as record:
            headers = {**CLOSE, "X-Request-ID": record.request_id}
            problem = problem_response(
                status, code, detail, retry_after=retry_after, headers=headers
            )
        lines = [f"HTTP/1.1 {status} {title_of(status)}".encode()]
        lines += [name + b": " + value for name, value in problem.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(problem.body)]))
        self._close()

    def _close(self) -> None:
        self._cancel_head_timer()
        if self.transport.is_closing():
            return
        unread = self.conn.their_state in {h11.SEND_BODY, h11.ERROR}
        if unread and self._client_slot is not None:
            self._closing_transport.lingers = True
            self._socket.write_eof()
            self._socket.resume_reading()
            self._abort_after(LINGER_SECONDS)
        else:
            self._socket.close()
            self._abort_after(self._limits.read_seconds)

    def _abort_after(self, seconds: float) -> None:
        """Abort the connection after this time; `resume_writing` cancels the timer."""
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._read_timer = self.loop.call_later(seconds, self._socket.abort)
