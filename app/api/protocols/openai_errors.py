"""Converts problem responses to OpenAI's error format, for the paths of its protocol."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import MEDIA_TYPE, ErrorEvent
from app.api.routes import problems

PATHS = ("/v1/chat/completions", "/v1/models")
_STATUSES = {422: 400}
"""OpenAI's status by ours, where they differ."""
_CODES = {"key_unknown": "invalid_api_key", "book_not_found": "model_not_found"}
"""OpenAI's code by ours. Other codes stay as in `contracts/errors.md`."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAIError(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorBody(BaseModel):
    error: OpenAIError


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route with these errors and those of every route."""
    return {
        status: {"description": about["description"], "model": ErrorBody}
        for status, about in problems(*statuses).items()
    }


def stream_error(event: ErrorEvent) -> ErrorBody:
    """Return the data of the last event of a failed stream."""
    code = _CODES.get(event.code, event.code)
    return ErrorBody(error=OpenAIError(message=event.message, type="server_error", code=code))


def _error(problem: dict[str, Any], status: int) -> ErrorBody:
    fields = problem.get("errors") or [{}]
    code = problem["code"]
    return ErrorBody(
        error=OpenAIError(
            message=f"{problem['detail']} (request {problem['request_id']})",
            type=_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error"),
            param=fields[0].get("field", "").removeprefix("body.") or None,
            code=_CODES.get(code, code),
        )
    )


class OpenAIErrors:
    """Middleware that rewrites problem responses on `PATHS`, from any part of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        ours = any(path == one or path.startswith(f"{one}/") for one in PATHS)
        if scope["type"] != "http" or not ours or scope["method"] == "HEAD":
            await self._app(scope, receive, send)
            return
        problem: Message | None = None
        """The start of a problem response, until its body follows."""

        async def rewriting(message: Message) -> None:
            nonlocal problem
            if message["type"] == "http.response.start" and _is_problem(message):
                problem = message
            elif problem is not None:
                await _send_rewritten(problem, message["body"], send)
            else:
                await send(message)

        await self._app(scope, receive, rewriting)


async def _send_rewritten(start: Message, problem: bytes, send: Send) -> None:
    sent = int(start["status"])
    status = _STATUSES.get(sent, sent)
    body = _error(json.loads(problem), status).model_dump_json(ensure_ascii=True).encode()
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["Content-Type"] = "application/json"
    headers["Content-Length"] = str(len(body))
    await send({**start, "status": status, "headers": headers.raw})
    await send({"type": "http.response.body", "body": body})


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(MEDIA_TYPE)
