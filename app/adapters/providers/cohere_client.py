"""Opens the SDK's client and the HTTP client below it, and translates their errors."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
import httpx

from app.adapters.providers.http import CONNECTIONS, MAX_BYTES, Provider, beginning, too_long
from app.domain.errors import ProviderRateLimited, ProviderUnavailable

if TYPE_CHECKING:
    from cohere import AsyncClientV2
    from cohere.core import RequestOptions

COHERE = Provider("Cohere", key_setting="CO_API_KEY", url_setting="RAG_COHERE_BASE_URL")
NO_RETRIES: RequestOptions = {"max_retries": 0}
"""Options of every call: `Call.run` repeats it. The SDK's retries do not repeat a call after a
dropped connection or without an answer in time, and let a reader wait for up to a minute."""
_CLIENT_NAME = "textbook-rag"
_SECONDS = 30.0
"""Time limit of a wait for data, where a call sets no other."""
_PER_MONTH = re.compile(r"/\s*month|per month|monthly", re.I)
_MONTHLY_WAIT = 86_400.0
"""Retry-After of a used-up month, in seconds: no call waits that long."""


class CohereClient(NamedTuple):
    """`sdk` for embeddings and rankings; `http` for chat streams, with the same connections.

    The SDK leaves out the events of a stream that it cannot read, and logs their text.
    """

    sdk: AsyncClientV2
    http: httpx.AsyncClient


@asynccontextmanager
async def open_client(api_key: str, base_url: str) -> AsyncIterator[CohereClient]:
    """Open the clients; their connections close with the context.

    `base_url` has no path. It is always passed on: without it the SDK would use CO_API_URL.
    ConfigError if the key is not printable ASCII.
    """
    headers = COHERE.headers(api_key) | {"X-Client-Name": _CLIENT_NAME}
    # The import blocks for up to 0.7 s.
    cohere = await asyncio.to_thread(importlib.import_module, "cohere")
    # Cheaper than httpx's own transport when many calls are open (specs/decisions/0001).
    transport: httpx.AsyncClient = cohere.DefaultAioHttpClient(
        base_url=base_url,
        headers=headers,
        timeout=_SECONDS,
        follow_redirects=True,
        limits=CONNECTIONS,
        event_hooks={"response": [_bound]},
    )
    client: AsyncClientV2 = cohere.AsyncClientV2(
        api_key=api_key.strip(),
        base_url=base_url.rstrip("/"),
        timeout=_SECONDS,
        client_name=_CLIENT_NAME,
        httpx_client=transport,
    )
    async with transport, client:
        yield CohereClient(client, transport)


async def _bound(response: httpx.Response) -> None:
    """Limit the bytes that are read of a response, by the SDK too."""
    response.headers.pop("Content-Encoding", None)
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Bounded(response.stream, failed=response.status_code >= 400)


class _Bounded(httpx.AsyncByteStream):
    """A body of at most MAX_BYTES, or the beginning of an error's."""

    def __init__(self, body: httpx.AsyncByteStream, *, failed: bool) -> None:
        self._body = body
        self._failed = failed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._failed:
            yield await beginning(self._body)
            return
        read = 0
        async for chunk in self._body:
            read += len(chunk)
            if read > MAX_BYTES:
                raise too_long(COHERE.name)
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


@contextmanager
def transport_errors(action: str) -> Iterator[None]:
    """Translate errors of the transport. `action` completes "Cohere could not ..."."""
    with COHERE.errors(action):
        try:
            yield
        except aiohttp.ClientError as error:
            message = f"Cohere could not {action}: the connection broke ({type(error).__name__})"
            raise ProviderUnavailable(message) from error


@contextmanager
def sdk_errors(action: str) -> Iterator[None]:
    """Translate errors of the SDK and the transport."""
    from cohere.core import ApiError, ParsingError  # noqa: PLC0415 - the client has loaded it

    with transport_errors(action):
        try:
            yield
        except ApiError as error:
            refused = COHERE.refusal(action, error.status_code or 0, error.headers, error.body)
            if isinstance(refused, ProviderRateLimited) and _PER_MONTH.search(refused.said):
                refused.retry_after = _MONTHLY_WAIT
            raise refused from error
        except ParsingError as error:
            message = f"Cohere could not {action}: its answer is invalid"
            raise ProviderUnavailable(message) from error
