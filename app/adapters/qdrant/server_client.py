"""Connections to a Qdrant server, a cluster or Qdrant Cloud."""

from __future__ import annotations

from typing import cast

import httpx
from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.server_nodes import Nodes, addresses, is_ready

_HTTP_PORT = 6333
"""Where qdrant-client asks when an address names no port."""

_GRPC_OPTIONS = {
    # A node that comes back is asked again at once, not after gRPC's growing pauses.
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
    `grpc_port` of each, or the port after that of HTTP, as Qdrant does by default (6333, 6334).
    """

    def connect(address: str) -> AsyncQdrantClient:
        parsed = httpx.URL(address)
        # Qdrant sends the head and the body of an answer apart, and the second waits for the
        # acknowledgement of the first: 40 ms on a connection that is kept. A new one costs less
        # without TLS, more with it.
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
    # Of one node nothing else could be asked, whatever it says.
    nodes = Nodes(clients, is_ready if len(clients) > 1 else _always)
    return cast("AsyncQdrantClient", nodes)


async def _always(_address: str) -> bool:
    return True
