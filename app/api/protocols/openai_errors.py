"""Converts problem responses to OpenAI's error format, for the paths of its protocol."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Response
from pydantic import BaseModel

from app.api.problems import ErrorEvent
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


_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route with these errors and those of every route."""
    return {
        status: {"description": about["description"], "content": _CONTENT}
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


def openai_error(problem: Response) -> Response:
    """Make a problem response an error of OpenAI's, from any part of the server."""
    status = _STATUSES.get(problem.status_code, problem.status_code)
    body = _error(json.loads(bytes(problem.body)), status).model_dump_json(ensure_ascii=True)
    problem.status_code, problem.body = status, body.encode()
    problem.headers["Content-Type"] = "application/json"
    problem.headers["Content-Length"] = str(len(problem.body))
    return problem
