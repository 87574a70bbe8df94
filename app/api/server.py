"""Runs the application in uvicorn: one process, or several that share a listening socket.

Slow clients and floods are a reverse proxy's work (`scripts/deploy`).
"""

import os
import resource
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from app.api.keys import require_keys
from app.bootstrap.storage import site_keys
from app.domain.errors import ConfigError
from app.settings import Settings

MAX_HEAD_BYTES = 16 * 1024
"""Maximum bytes of a request's line and headers that uvicorn waits for."""
KEEP_ALIVE_SECONDS = 15
"""Time limit between two requests of a connection."""
MAX_CONNECTIONS = 1_000
"""Open connections, at most half of the process's file descriptors; others get 503."""
SHUTDOWN_SECONDS = 20
"""Time that running answers get when the server stops; then uvicorn cancels them, and they end
with an error."""

HEALTH_SECONDS = 60
"""A worker that does not answer its supervisor for so long is replaced; on a busy machine the start
of one takes ten."""


def configured(web: FastAPI | str, settings: Settings) -> uvicorn.Config:
    """Return the server's configuration for an application, or for the name of its factory."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return uvicorn.Config(
        web,
        factory=isinstance(web, str),
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=[*settings.trusted_proxies],
        limit_concurrency=min(MAX_CONNECTIONS, descriptors // 2),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=HEALTH_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


def listening(settings: Settings) -> socket.socket:
    """Return a bound socket. ConfigError if others may ask without a key, or it cannot be bound."""
    require_keys(settings, site_keys(settings))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns off Nagle's algorithm only if the socket's protocol is IPPROTO_TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        reason = error.strerror or os.strerror(error.errno or 0)
        message = (
            f"cannot listen on {settings.host}:{settings.port} ({reason}); choose a free port with "
            "--port (RAG_PORT), and an address of this machine as RAG_HOST"
        )
        raise ConfigError(message) from None
    return listener


async def run(web: FastAPI, settings: Settings, listener: socket.socket) -> None:
    await uvicorn.Server(configured(web, settings)).serve(sockets=[listener])


def run_workers(
    factory: str,
    settings: Settings,
    listener: socket.socket,
    announce: Callable[[Settings], None],
) -> int:
    """Run processes that share the socket; each makes its own application. Returns the exit code.

    ConfigError with the embedded index.
    """
    if not settings.qdrant_url:
        message = (
            f"{settings.workers} workers need a Qdrant server: with the embedded index each would "
            "load every book into its own memory; set QDRANT_URL, or leave RAG_WORKERS at 1"
        )
        raise ConfigError(message)
    os.environ.update(settings.as_environment())  # from which each worker reads its settings
    announce(settings)
    supervisor = Multiprocess(configured(factory, settings), [listener])
    supervisor.run()
    return int(any(one.exitcode == STARTUP_FAILURE for one in supervisor.processes))
