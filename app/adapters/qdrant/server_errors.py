"""Converts errors of the Qdrant client to ours, with one-line messages that contain no API key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import httpx
from grpc import StatusCode
from grpc.aio import AioRpcError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from app.domain.errors import ConfigError, RagError, StorageError


class CollectionExists(StorageError):
    """Another process created the collection first."""


class CollectionMissing(StorageError):
    """The collection was deleted, or the server's storage was replaced."""


OLDEST = (1, 19)
"""The first version that counts document frequencies in the books searched (`idf.corpus`)."""

_NEWEST_MAJOR = 1

_NO_COLLECTION = re.compile(r"Collection .+ doesn't exist")


def check_version(address: str, version: str) -> None:
    """Raise ConfigError for a server that this program cannot use."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if len(numbers) < 2 or numbers < OLDEST:
        wanted = f"too old: {OLDEST[0]}.{OLDEST[1]} or newer is needed"
    elif numbers[0] > _NEWEST_MAJOR:
        wanted = f"too new: version {_NEWEST_MAJOR} is needed"
    else:
        return
    message = f"Qdrant at {address} has version {version[:40]}, which is {wanted}"
    raise ConfigError(message)


_NODE_FAILURES = frozenset(
    (
        StatusCode.ABORTED,
        StatusCode.CANCELLED,
        StatusCode.DATA_LOSS,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    )
)


def is_node_failure(error: Exception) -> bool:
    """Whether another node may succeed: a lost connection, a time-out, an error of the server."""
    if isinstance(error, AioRpcError):
        return error.code() in _NODE_FAILURES
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, ResponseHandlingException) and isinstance(
        error.source, (httpx.TransportError, OSError)
    )


_HTTP_STATUS = {
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.NOT_FOUND: 404,
    StatusCode.ALREADY_EXISTS: 409,
}


@contextmanager
def server_errors(address: str) -> Iterator[None]:
    """Raise StorageError or ConfigError for any error of a call to the server."""
    try:
        yield
    except (
        UnexpectedResponse, AioRpcError, ConnectionError, ResourceExhaustedResponse,
        ResponseHandlingException, ValueError, AssertionError,
    ) as error:  # fmt: skip
        raise _converted(address, error) from error


def _converted(address: str, error: Exception) -> RagError:
    match error:
        case UnexpectedResponse():
            status = error.status_code or 0
            return _refusal(address, str(status), status, _reason(error))
        case AioRpcError():
            return _failed_call(address, error)
        case ResourceExhaustedResponse():
            return StorageError(f"Qdrant at {address} got too many requests (429): try again later")
        case ResponseHandlingException(source=source) if "Timeout" in type(source).__name__:
            kind = type(source).__name__
            return StorageError(f"Qdrant at {address} did not answer in time ({kind})")
        case ResponseHandlingException(source=ValueError()) | ValueError() | AssertionError():
            # The answer is not JSON or has no result.
            return StorageError(f"{address} does not answer like a Qdrant server: check QDRANT_URL")
    reason = type(error.source).__name__ if isinstance(error, ResponseHandlingException) else error
    return StorageError(f"cannot reach Qdrant at {address} ({reason}): check QDRANT_URL")


def _failed_call(address: str, error: AioRpcError) -> RagError:
    code, reason = error.code(), _one_line(error.details())
    if code is StatusCode.UNAVAILABLE:
        message = (
            f"cannot reach Qdrant's gRPC at {address} ({reason}): check QDRANT_URL and the server, "
            "open its gRPC port (RAG_QDRANT_GRPC_PORT), or set the port to 0 for HTTP"
        )
        return StorageError(message)
    if code is StatusCode.DEADLINE_EXCEEDED:
        return StorageError(f"Qdrant at {address} did not answer in time ({reason})")
    return _refusal(address, code.name, _HTTP_STATUS.get(code, 500), reason)


def _refusal(address: str, code: str, status: int, reason: str) -> RagError:
    if status in (401, 403):
        return ConfigError(f"Qdrant at {address} refused the key ({code}): check QDRANT_API_KEY")
    if status == 409 or "already exists" in reason:
        return CollectionExists(f"Qdrant at {address}: {reason}")
    if status == 404 and _NO_COLLECTION.search(reason):
        return CollectionMissing(f"Qdrant at {address}: {reason}")
    return StorageError(f"Qdrant at {address} answered {code}: {reason}")


def _reason(error: UnexpectedResponse) -> str:
    try:
        return _one_line(str(json.loads(error.content)["status"]["error"]))
    except (ValueError, KeyError, TypeError):
        return _one_line(error.reason_phrase)


def _one_line(reason: str | None) -> str:
    return " ".join((reason or "no reason given").split())[:300]
