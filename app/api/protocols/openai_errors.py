"""Converts problem responses to OpenAI's error format, for the paths of its protocol."""

from typing import Any

from app.api.problems import STATUSES, ErrorEvent, Problem, title_of

PATHS = ("/v1/chat/completions", "/v1/models")
_STATUSES = {422: 400}
"""OpenAI's status by ours, where they differ."""
_CODES = {"key_unknown": "invalid_api_key", "book_not_found": "model_not_found"}
"""OpenAI's code by ours. Other codes stay as in `contracts/errors.md`."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": title_of(status), "content": {"application/json": {}}}
    for status in STATUSES
}
"""The `responses` of its routes."""


def stream_error(event: ErrorEvent) -> dict[str, Any]:
    """Return the data of the last event of a failed stream."""
    return _error(event.message, "server_error", event.code)


def openai_error(problem: Problem) -> tuple[int, dict[str, Any]]:
    """Return status and body of OpenAI's error for a problem, from any part of the server."""
    status = _STATUSES.get(problem.status, problem.status)
    kind = "server_error" if status >= 500 else "invalid_request_error"
    message = f"{problem.detail} (request {problem.request_id})"
    invalid = problem.errors[0].field if problem.errors else ""
    param = invalid.removeprefix("body.") or None
    return status, _error(message, _TYPES.get(status, kind), problem.code, param)


def _error(message: str, kind: str, code: str, param: str | None = None) -> dict[str, Any]:
    named = {"param": param, "code": _CODES.get(code, code)}
    return {"error": {"message": message, "type": kind, **named}}
