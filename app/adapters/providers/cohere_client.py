"""The client of Cohere's API."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.adapters.providers.http import Provider, connect, tokens_of

if TYPE_CHECKING:
    from cohere import AsyncClientV2
    from cohere.core import RequestOptions

COHERE = ("Cohere", "CO_API_KEY", "RAG_COHERE_BASE_URL")
NO_RETRIES: RequestOptions = {"max_retries": 0}
"""Options of every call: `Call.run` repeats it. The SDK's retries do not repeat a call after a
dropped connection or without an answer in time, and let a reader wait for up to a minute."""


@dataclass(frozen=True, slots=True)
class CohereClient:
    sdk: AsyncClientV2
    """For embeddings and rankings."""
    provider: Provider
    """For chat: of a stream, the SDK leaves out events that it cannot read, and logs their text."""


@asynccontextmanager
async def open_client(api_key: str, base_url: str) -> AsyncIterator[CohereClient]:
    """Open the client; its connections close with the context.

    `base_url` has no path. It is always passed on: without it the SDK would use CO_API_URL.
    ConfigError if the key is not printable ASCII.
    """
    async with connect(*COHERE, base_url, api_key) as provider:
        # The import blocks for up to 0.7 s.
        await asyncio.to_thread(importlib.import_module, "cohere")
        from cohere import AsyncClientV2  # noqa: PLC0415
        from cohere.core import ApiError, ParsingError  # noqa: PLC0415

        address, http = base_url.rstrip("/"), provider.client
        sdk = AsyncClientV2(api_key.strip(), base_url=address, httpx_client=http)
        # The client has refused all statuses of an error: the SDK refuses only the JSON of a body.
        invalid = (*provider.invalid, ApiError, ParsingError)
        yield CohereClient(sdk, replace(provider, invalid=invalid))


def billed_by(response: object, unit: str) -> int | None:
    """Return the billed number of these units; None if the response does not say it."""
    units = getattr(getattr(response, "meta", None), "billed_units", None)
    return tokens_of(getattr(units, unit, None))
