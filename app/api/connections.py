"""A connection with time limits, and refusals in the API's form; uvicorn has no settings for them.

Slow and many clients are a reverse proxy's work (`scripts/deploy`). These bounds keep the server up
without one: one address gets at most half of the connections, and nobody holds one without use.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.limits import is_one_of, site
from app.api.problems import CLOSE, code_of, problem_response, title_of
from app.services.recording import recording

HEAD_SECONDS = 10.0
"""Time limit for a request's head, from the start of the connection or the head's first byte."""
READ_SECONDS = 30.0
"""Time limit for the client to read 64 KiB of the response."""
LINGER_SECONDS = 2.0
"""Time for a client that is still sending to read why it is refused. Closing at once would reset
the connection and discard the response."""


class BoundedConnection(H11Protocol):
    """A connection of which the server has at most `most`, half of them for one address.

    `trusted` are the networks of proxies, whose connections belong to many clients.
    """

    def __init__(self, *given: Any, most: int, trusted: list[str], **named: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*given, **named)
        self._most = most
        self._trusted = trusted
        self._refused = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    @property
    def site(self) -> str:
        return site(self.client[0]) if self.client else ""

    # Called by asyncio.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._is_too_many():
            self._refuse(503, "overloaded", "too many connections are open", retry_after=1.0)
            transport.close()
        else:
            self._await_head()

    def _is_too_many(self) -> bool:
        if len(self.connections) > self._most:
            return True
        if self.client and is_one_of(self.client[0], self._trusted):
            return False
        of_client: int = sum(getattr(one, "site", "") == self.site for one in self.connections)
        return of_client > self._most // 2

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()

    # Called by uvicorn.

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """Refuse an invalid request, with the status of the h11 error that is being handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(status, code_of(status), "this is not a valid HTTP request")

    def _await_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_late_head)

    def _on_late_head(self) -> None:
        if self.conn.trailing_data[0]:
            detail = f"the request's head did not arrive within {HEAD_SECONDS:g} s"
            self._refuse(408, "request_timeout", detail)
        else:
            self.transport.close()

    def _refuse(
        self, status: int, code: str, detail: str, *, retry_after: float | None = None
    ) -> None:
        """Send a problem and close; if another response has begun, abort it."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.abort()
                return
        with recording(uuid4().hex[:16]) as record:
            headers = {**CLOSE, "X-Request-ID": record.request_id}
            problem = problem_response(
                status, code, detail, retry_after=retry_after, headers=headers
            )
        lines = [f"HTTP/1.1 {status} {title_of(status)}".encode()]
        lines += [name + b": " + value for name, value in problem.raw_headers]
        self._refused = True
        self.transport.write(b"\r\n".join([*lines, b"", bytes(problem.body)]))
        self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)


def bounded(most: int, trusted: list[str]) -> Callable[..., BoundedConnection]:
    """Return what makes the connections of a server."""
    return partial(BoundedConnection, most=most, trusted=trusted)
