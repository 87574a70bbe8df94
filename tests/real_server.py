"""Real Qdrant servers for the contract tests.

QDRANT_TEST_URL names one, QDRANT_TEST_CLUSTER the nodes of a cluster with commas; QDRANT_TEST_KEY
is the key of both.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server import ServerIndex
from app.adapters.qdrant.server_client import server_client
from app.adapters.qdrant.server_schema import ServerOptions

URL = os.environ.get("QDRANT_TEST_URL", "")
KEY = os.environ.get("QDRANT_TEST_KEY") or None
CLUSTER = os.environ.get("QDRANT_TEST_CLUSTER", "")
NOT_RUN = "QDRANT_TEST_URL is not set: no contract test ran against a real Qdrant server"
NO_CLUSTER = "QDRANT_TEST_CLUSTER is not set: no contract test ran against a real Qdrant cluster"


@dataclass(frozen=True, slots=True)
class RealServer:
    """One prefix of the server, which is empty at first and is removed at the end."""

    client: AsyncQdrantClient
    prefix: str
    url: str

    def index(self, client: AsyncQdrantClient | None = None) -> ServerIndex:
        options = ServerOptions(replicas=2 if "," in self.url else 1)
        return ServerIndex(client or self.client, self.prefix, self.url, options)

    def collection(self, name: int | str) -> str:
        return f"{self.prefix}~{name}"


@asynccontextmanager
async def real_server(url: str = URL) -> AsyncIterator[RealServer]:
    client = server_client(url, KEY)
    server = RealServer(client, f"test-{secrets.token_hex(4)}", url)
    try:
        yield server
    finally:
        for one in (await client.get_collections()).collections:
            if one.name.startswith(f"{server.prefix}~"):
                await client.delete_collection(one.name)
        await client.close()
