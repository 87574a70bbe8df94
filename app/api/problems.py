"""Maps errors to HTTP statuses and RFC 9457 problem documents.

A 4xx response contains the error's message, of an unknown book a fixed text. The message of a 5xx
error may name files, models or hosts. It goes to the log; the response contains a fixed text and
the request id.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from app.domain.errors import (
    AnswerNotFound,
    BookNotAllowed,
    BookNotFound,
    ConfigError,
    IndexBusy,
    IndexMismatch,
    InputError,
    Overloaded,
    ProviderAuthError,
    ProviderError,
    ProviderRateLimited,
    ProviderUnavailable,
    RagError,
    ShuttingDown,
    StorageError,
    TooManyRequests,
)
from app.services.recording import REQUEST, Failure, current

_log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CLIENT_CLOSED_REQUEST = 499  # nginx's status for a closed connection
# Titles of RFC 9110, which differ between Python versions.
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
_UNEXPECTED = "Something went wrong on the server. Quote the request id when you report it."
_MISCONFIGURED = "The server is not set up correctly. Its operator finds the reason in the log."


class InvalidField(BaseModel):
    """An invalid field of the request; its value is not repeated."""

    field: Annotated[str, Field(examples=["body.history.0.role"])]
    message: str


class Problem(BaseModel):
    """An RFC 9457 problem: `application/problem+json`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    title: Annotated[str, Field(examples=["Not Found"])]
    """The status in words."""
    status: int
    detail: str
    """Explanation of this problem, for a person."""
    code: Annotated[str, Field(examples=["book_not_found"])]
    """Stable name of the error."""
    request_id: str
    """Also in `X-Request-ID` and in the log."""
    errors: list[InvalidField] | None = None
    retry_after: float | None = None
    """Seconds to wait, if known."""


class ErrorEvent(BaseModel):
    code: str
    message: str
    retry_after: float | None = None


_BUSY = "Too many questions at once. Try again in a moment."
_UNREACHED = "The language model's service does not answer. Try again in a moment."
_STATUSES: Mapping[type[RagError], tuple[int, str]] = {
    InputError: (422, ""),
    # Its message may name books of other keys.
    BookNotFound: (404, "There is no such book: `GET /v1/books` lists those that you may ask."),
    BookNotAllowed: (403, ""),
    AnswerNotFound: (404, ""),
    IndexMismatch: (409, ""),
    IndexBusy: (409, ""),
    ConfigError: (500, _MISCONFIGURED),
    TooManyRequests: (429, ""),
    Overloaded: (503, _BUSY),
    ShuttingDown: (503, "The server is being restarted. Try again in a moment."),
    StorageError: (503, "The data cannot be read just now. Try again in a moment."),
    ProviderError: (502, "The language model's service failed. Try again in a moment."),
    ProviderAuthError: (502, _MISCONFIGURED),
    ProviderRateLimited: (503, _BUSY),
    ProviderUnavailable: (503, _UNREACHED),
    RagError: (500, _UNEXPECTED),
}
"""Status and detail by class; the first listed class in the MRO of the error's class applies. No
detail: the error's message."""


CLOSE = {"Connection": "close"}
"""Header of a response to a request whose body is not read."""


class Refused(HTTPException):
    """A refusal with a code of its own; the code of another HTTPException is that of its status."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code


def status_and_detail(error: Exception) -> tuple[int, str]:
    kinds = type(error).__mro__ if isinstance(error, RagError) else [RagError]
    status, detail = next(_STATUSES[kind] for kind in kinds if kind in _STATUSES)
    return status, detail or str(error)


def title_of(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


_STORAGE_RETRY_SECONDS = 5.0
"""A lost index server may be back at once; a damaged book is opened again after seconds."""


def report(error: Exception) -> None:
    """Record the cause of a 5xx for the request's log line; log an unexpected error at once."""
    if not isinstance(error, RagError):
        _log.error(
            "http.unexpected_error", extra={"request_id": current().request_id}, exc_info=error
        )
    elif status_and_detail(error)[0] < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    current().failed(REQUEST, error)


def error_event(error: Exception) -> ErrorEvent:
    """Return the last event of a failed stream."""
    storage = _STORAGE_RETRY_SECONDS if isinstance(error, StorageError) else None
    return ErrorEvent(
        code=error.code if isinstance(error, RagError) else RagError.code,
        message=status_and_detail(error)[1],
        retry_after=getattr(error, "retry_after", storage),
    )


_DETAILS = {
    "Not Found": "there is nothing at this address: see /v1/openapi.json for the API",
    "Method Not Allowed": "this address does not take the method: see the header `Allow`",
}
"""Details that replace the framework's, which only repeat the title."""


Shape: TypeAlias = Callable[[Problem], tuple[int, object]]
"""Status and JSON of an error in another protocol."""


def error_response(error: Exception, scope: Scope) -> Response:
    """Return the problem of any error, or what the protocol of the request's path has instead."""
    problem, record = _problem_of(error), current()
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not record.failure:
        record.failures.append(Failure(REQUEST, problem.code, None, problem.detail))
    headers = dict(getattr(error, "headers", None) or {})
    if problem.retry_after is not None:
        headers["Retry-After"] = str(math.ceil(problem.retry_after))
    # ASCII, since a field name from the request may contain a lone surrogate.
    shapes: Mapping[str, Shape] = scope["app"].state.error_shapes
    for prefix, shape in shapes.items():
        if f"{scope['path']}/".startswith(f"{prefix}/"):
            status, body = shape(problem)
            return Response(json.dumps(body), status, headers, "application/json")
    text = problem.model_dump_json(exclude_none=True, ensure_ascii=True)
    return Response(text, problem.status, headers, MEDIA_TYPE)


def _problem_of(error: Exception) -> Problem:
    """Return the problem; `report` the error if it is not a refusal."""
    errors, wait = None, None
    if isinstance(error, RequestValidationError):
        errors = [*map(invalid_field, error.errors())]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        status, code = 422, "invalid_request"
        detail = f"{errors[0].field}: {errors[0].message}{more}"
    elif isinstance(error, HTTPException):
        status, detail = error.status_code, _DETAILS.get(error.detail, error.detail)
        code = getattr(error, "code", title_of(status).lower().replace(" ", "_"))
    else:
        report(error)
        event, (status, detail) = error_event(error), status_and_detail(error)
        code, wait = event.code, event.retry_after
    return Problem(
        title=title_of(status),
        status=status,
        detail=detail,
        code=code,
        request_id=current().request_id,
        errors=errors,
        retry_after=wait,
    )


_NO_OBJECT = frozenset({"model_attributes_type", "model_type", "dict_type"})
"""pydantic's error types for a body that is not an object or has another content type."""


def invalid_field(error: Mapping[str, Any]) -> InvalidField:
    """Convert one of pydantic's errors, without the invalid value."""
    if error["type"] == "json_invalid":
        return InvalidField(field="body", message=f"invalid JSON ({error['ctx']['error']})")
    field = ".".join(str(part) for part in error["loc"])
    if field == "body" and error["type"] in _NO_OBJECT:
        message = "not a JSON object: send one with `Content-Type: application/json`"
        return InvalidField(field=field, message=message)
    # pydantic adds this prefix to messages of our validators.
    return InvalidField(field=field, message=str(error["msg"]).removeprefix("Value error, "))


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of routes with the problems of these statuses."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        one: {"description": title_of(one), "content": {MEDIA_TYPE: {"schema": schema}}}
        for one in statuses
    }


STATUSES = (400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503)
"""Status codes of the problems that any route may answer with."""
OF_FRAMEWORK = (RequestValidationError, HTTPException)
"""Errors that FastAPI would answer itself; `RecordedRequests` converts all others."""


async def on_error(request: Request, error: Exception) -> Response:
    return error_response(error, request.scope)
