"""The HTTP server: uvicorn with limits on connections; at shutdown running answers end."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from socket import socket
from typing import cast

import uvicorn
from fastapi import FastAPI

from app.api.asking import Shutdown
from app.api.connections import bounded
from app.api.limits import trusted_proxies
from app.api.security import MAX_HEAD_BYTES
from app.settings import Settings

_log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 15
"""Time limit between two requests of a connection."""
MAX_CONNECTIONS = 1_000
"""Open connections, at most half of them from one address. They may use at most half of the
process's file descriptors."""
SHUTDOWN_SECONDS = 20.0
"""Time that running answers get when the server stops; after it they end with an error."""
BACKLOG = 256
"""Connections that the system queues until they are accepted."""
EXIT_SECONDS = 5.0
"""Time from the end of running answers to the end of the process."""


class StoppingServer(uvicorn.Server):
    """On shutdown, ends running answers after a time limit."""

    def __init__(self, config: uvicorn.Config, seconds: float, stop: Callable[[], None]) -> None:
        """`stop` is called `seconds` after the shutdown began."""
        super().__init__(config)
        self._seconds = seconds
        self._stop = stop

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            address = f"http://{self.config.host}:{self.config.port}"
            _log.info("serve.started", extra={"address": address, "pid": os.getpid()})

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        requests = len(self.server_state.tasks)
        _log.info("serve.stopping", extra={"requests": requests, "seconds": self._seconds})
        timer = asyncio.get_running_loop().call_later(self._seconds, self._stop)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()
        _log.info("serve.stopped")


def server(web: FastAPI, settings: Settings) -> StoppingServer:
    """Return the server for the application of `app.main`. Raises ConfigError."""
    descriptors = raised_descriptor_limit()
    most = max(2, min(MAX_CONNECTIONS, descriptors // 2))
    connections = bounded(most, trusted_proxies(settings.trusted_proxies))
    config = uvicorn.Config(
        web,
        host=settings.host,
        port=settings.port,
        http=cast("type[asyncio.Protocol]", connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `security.install` adds it with the trusted networks
        # A refused connection keeps its file descriptor for some iterations of the event loop.
        backlog=min(BACKLOG, max(1, descriptors // 8)),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(SHUTDOWN_SECONDS + EXIT_SECONDS),
        h11_max_incomplete_event_size=2 * MAX_HEAD_BYTES,
    )

    def stop() -> None:
        shutdown: Shutdown = web.state.shutdown
        shutdown.begin()

    return StoppingServer(config, SHUTDOWN_SECONDS, stop)


def raised_descriptor_limit() -> int:
    """Raise the process's limit on open files to the maximum; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS allows less than the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft if soft != resource.RLIM_INFINITY else sys.maxsize
