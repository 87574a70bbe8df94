"""Connections to a Qdrant server, a cluster or Qdrant Cloud."""

from __future__ import annotations

from typing import cast

import httpx
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server_nodes import Nodes, addresses, is_ready

_HTTP_PORT = 6333
"""Port that qdrant-client uses if an address has none."""

_GRPC_OPTIONS = {
    # Reconnect to a restarted node at once, without gRPC's exponential backoff.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 200,
}


def server_client(
    url: str,
    api_key: str | None,
    timeout_seconds: int = 30,
    *,
    grpc: bool = True,
    grpc_port: int | None = None,
) -> AsyncQdrantClient:
    """Make a client that connects at its first use; close it with `await client.close()`.

    `url` has the addresses of one or more nodes of a cluster, separated by commas. gRPC uses
    `grpc_port` on each node. By default that is the HTTP port plus 1, as in Qdrant (6333, 6334).
    """

    def connect(address: str) -> AsyncQdrantClient:
        parsed = httpx.URL(address)
        # Qdrant sends headers and body of a response in separate packets. On a kept connection the
        # second waits for the acknowledgement of the first, 40 ms. A new connection takes less time
        # than that without TLS, and more with TLS.
        kept = None if parsed.scheme == "https" else 0
        return AsyncQdrantClient(
            url=address,
            api_key=api_key,
            timeout=timeout_seconds,
            check_compatibility=False,
            limits=httpx.Limits(max_keepalive_connections=kept),
            prefer_grpc=grpc,
            grpc_port=grpc_port or (parsed.port or _HTTP_PORT) + 1,
            grpc_options=dict(_GRPC_OPTIONS),
        )

    clients = {address: connect(address) for address in addresses(url)}
    # With one node there is no alternative, so its readiness is not checked.
    nodes = Nodes(clients, is_ready if len(clients) > 1 else _always)
    return cast("AsyncQdrantClient", nodes)


async def _always(_address: str) -> bool:
    return True
