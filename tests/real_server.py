"""A real Qdrant server for the contract tests, named by QDRANT_TEST_URL (QDRANT_TEST_KEY)."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex, server_client

URL = os.environ.get("QDRANT_TEST_URL", "")
KEY = os.environ.get("QDRANT_TEST_KEY") or None
NOT_RUN = "QDRANT_TEST_URL is not set: no contract test ran against a real Qdrant server"


@dataclass(frozen=True, slots=True)
class RealServer:
    """One prefix of the server, which is empty at first and is removed at the end."""

    client: AsyncQdrantClient
    prefix: str

    def index(self, client: AsyncQdrantClient | None = None) -> ServerIndex:
        return ServerIndex(client or self.client, self.prefix, URL)

    def collection(self, name: int | str) -> str:
        return f"{self.prefix}~{name}"


@asynccontextmanager
async def real_server() -> AsyncIterator[RealServer]:
    client = server_client(URL, KEY)
    server = RealServer(client, f"test-{secrets.token_hex(4)}")
    try:
        yield server
    finally:
        for one in (await client.get_collections()).collections:
            if one.name.startswith(f"{server.prefix}~"):
                await client.delete_collection(one.name)
        await client.close()
