"""Opens the SDK's client and the HTTP client below it, with bounded responses."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx

from app.domain.errors import ConfigError
from app.services.provider_stream import MAX_BYTES, beginning, limited

if TYPE_CHECKING:
    from cohere import AsyncClientV2
    from cohere.core import RequestOptions

_CLIENT_NAME = "textbook-rag"
_SECONDS = 30.0
"""Time limit of a wait for data, where a call sets no other."""
# Each answer uses a connection while it is generated. With httpx's default limit of 100, the 101st
# reader, and every search meanwhile, would wait for a free connection and fail.
_CONNECTIONS = httpx.Limits(max_connections=2_000, max_keepalive_connections=100)


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
    key = api_key.strip()
    if not key.isascii() or not key.isprintable() or not key:
        message = "the Cohere key has invalid characters: set CO_API_KEY again"
        raise ConfigError(message)
    # The import blocks for up to 0.7 s.
    cohere = await asyncio.to_thread(importlib.import_module, "cohere")
    # Cheaper than httpx's own transport when many calls are open (specs/decisions/0001).
    transport: httpx.AsyncClient = cohere.DefaultAioHttpClient(
        base_url=base_url,
        headers={
            "Authorization": f"Bearer {key}",
            "X-Client-Name": _CLIENT_NAME,
            # Compressed responses are not asked for and not read: a few kB may become any size.
            "Accept-Encoding": "identity",
        },
        timeout=_SECONDS,
        follow_redirects=True,
        limits=_CONNECTIONS,
        event_hooks={"response": [_bound]},
    )
    client: AsyncClientV2 = cohere.AsyncClientV2(
        api_key=key,
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
        async with aclosing(limited(self._body, MAX_BYTES, "Cohere")) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


NO_RETRIES: RequestOptions = {"max_retries": 0}
"""Options of every call: `retries` repeats it."""
