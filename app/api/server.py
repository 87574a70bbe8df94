"""Runs the application in uvicorn: one process, or several that share a listening socket.

Slow clients and floods are a reverse proxy's work (`scripts/deploy`).
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

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
        forwarded_allow_ips=settings.trusted_proxies,
        limit_concurrency=max(2, min(MAX_CONNECTIONS, raised_descriptor_limit() // 2)),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=HEALTH_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )


def raised_descriptor_limit() -> int:
    """Raise the process's limit on open files to the maximum; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS allows less than the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else sys.maxsize
