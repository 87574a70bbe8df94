"""Gives every request an id, records it, logs it and counts it in the metrics."""

import asyncio
import logging
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import CLIENT_CLOSED_REQUEST, error_response
from app.domain.errors import Overloaded, TooManyRequests
from app.services.recording import Recording, recording

_log = logging.getLogger(__name__)
_CHEAP_REFUSALS = frozenset({Overloaded.code, TooManyRequests.code})
_LOGGED = ("/v1/", "/cite/")
"""Successful requests for pages, health and metrics are not logged."""


class RecordedRequests:
    """Middleware that gives each request an id and a recording, and logs it at its end.

    It converts errors of the middleware inside it, and unexpected ones, to problem responses.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex[:16]
        status = CLIENT_CLOSED_REQUEST

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        state, task = scope["app"].state, asyncio.current_task()
        state.running.add(task)
        with recording(request_id) as record:
            try:
                await self._app(scope, receive, send_with_id)
            except (ClientDisconnect, asyncio.CancelledError):
                pass  # the client left, or the server stopped
            except Exception as error:
                response = error_response(error, scope)
                if status != CLIENT_CLOSED_REQUEST:
                    raise
                await response(scope, receive, send_with_id)
            finally:
                state.running.discard(task)
                # The path's template, such as `/cite/{paragraph_id}`; "" if no route matched.
                method, route = scope["method"], getattr(scope.get("route"), "path", "")
                state.metrics.count(route, status, record)
                _log_request(method, route, status, record)


def _log_request(method: str, route: str, status: int, record: Recording) -> None:
    """Log the request with its route, not its path: the path may contain text of readers."""
    failed = record.failure
    fields = dict[str, object](method=method, route=route, status=status, ms=record.ms)
    if failed:
        fields |= {"code": failed.code, "reason": failed.reason, "provider_status": failed.status}
    if record.answer is None and record.seconds:
        fields |= record.fields()
    if failed and failed.code not in _CHEAP_REFUSALS:
        _log.warning("http.request_failed", extra=fields)
    elif status >= 400:
        _log.info("http.refused", extra=fields)
    elif route.startswith(_LOGGED):
        _log.info("http.request", extra=fields)
