"""Converts errors of the Qdrant client to ours, with one-line messages that contain no API key."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from grpc import StatusCode
from grpc.aio import AioRpcError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from app.domain.errors import ConfigError, RagError, StorageError


class CollectionMissing(StorageError):
    """The collection was deleted, or the server's storage was replaced."""


OLDEST = (1, 19)
"""The first version that counts document frequencies in the books searched (`idf.corpus`)."""

_NO_COLLECTION = re.compile(r"Collection .+ doesn't exist")


def check_version(address: str, version: str) -> None:
    """Raise ConfigError for a server that this program cannot use."""
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        message = f"Qdrant at {address} has version {version[:40]}: {wanted} or newer is needed"
        raise ConfigError(message)


NodeError: TypeAlias = AioRpcError | ConnectionError
NODE_ERRORS = (AioRpcError, ConnectionError)
"""What a call of one node raises."""

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


def is_node_failure(error: NodeError) -> bool:
    """Whether another node may succeed: a lost connection, a time-out, an error of the server."""
    return not isinstance(error, AioRpcError) or error.code() in _NODE_FAILURES


@contextmanager
def server_errors(address: str) -> Iterator[None]:
    """Raise StorageError or ConfigError for any error of a call to the server."""
    try:
        yield
    except AioRpcError as error:
        reason = " ".join((error.details() or "no reason given").split())[:300]
        raise _converted(address, error.code(), reason) from error
    except ResourceExhaustedResponse as error:
        raise StorageError(f"Qdrant at {address} got too many requests: try again later") from error
    except ConnectionError as error:
        raise StorageError(f"cannot reach Qdrant at {address} ({error})") from error


def _converted(address: str, code: StatusCode, reason: str) -> RagError:
    match code:
        case StatusCode.UNAVAILABLE:
            message = (
                f"cannot reach Qdrant at {address} ({reason}): check QDRANT_URL and the server, "
                "and that its gRPC port is open (RAG_QDRANT_GRPC_PORT)"
            )
            return StorageError(message)
        case StatusCode.DEADLINE_EXCEEDED:
            return StorageError(f"Qdrant at {address} did not answer in time ({reason})")
        case StatusCode.UNAUTHENTICATED | StatusCode.PERMISSION_DENIED:
            message = f"Qdrant at {address} refused the key ({code.name}): check QDRANT_API_KEY"
            return ConfigError(message)
    if code is StatusCode.NOT_FOUND and _NO_COLLECTION.search(reason):
        return CollectionMissing(f"Qdrant at {address}: {reason}")
    return StorageError(f"Qdrant at {address} answered {code.name}: {reason}")
