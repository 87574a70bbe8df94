"""Opens the SDK's client."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx

from app.domain.errors import ConfigError

if TYPE_CHECKING:
    from cohere import AsyncClientV2
    from cohere.core import RequestOptions

# Each answer uses a connection while it is generated. With httpx's default limit of 100, the 101st
# reader, and every search meanwhile, would wait for a free connection and fail.
_CONNECTIONS = httpx.Limits(max_connections=2_000, max_keepalive_connections=100)


@asynccontextmanager
async def open_client(
    api_key: str, base_url: str, timeout_seconds: float
) -> AsyncIterator[AsyncClientV2]:
    """Open the SDK's client; its connections close with the context.

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
        timeout=timeout_seconds, follow_redirects=True, limits=_CONNECTIONS
    )
    client: AsyncClientV2 = cohere.AsyncClientV2(
        api_key=key,
        base_url=base_url.rstrip("/"),
        timeout=timeout_seconds,
        client_name="textbook-rag",
        httpx_client=transport,
    )
    async with transport, client:
        yield client


def request_options(timeout_seconds: float) -> RequestOptions:
    """Return the options of every call. The SDK's retries are off: no limiter would count them."""
    return {"timeout": timeout_seconds, "max_retries": 0}
