"""`serve` with RAG_WORKERS: runs processes that accept connections on one listening socket.

uvicorn's supervisor starts an application by its name, without this program's checks before it and
its end of streams.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import TypeAlias

from app.bootstrap.logs import logging_to
from app.domain.errors import ConfigError
from app.settings import Settings

_log = logging.getLogger(__name__)

_EARLY_SECONDS = 5.0
"""If a worker ends earlier, it counts as unable to start, and the server stops."""
_LOOK_SECONDS = 0.5

Serve: TypeAlias = Callable[[Settings, socket.socket], None]


def require_server(settings: Settings) -> None:
    """ConfigError for several workers with the embedded index."""
    if settings.workers > 1 and not settings.qdrant_url:
        message = (
            f"{settings.workers} workers need a Qdrant server: with the embedded index each would "
            "load every book into its own memory; set QDRANT_URL, or leave RAG_WORKERS at 1"
        )
        raise ConfigError(message)


def run_workers(settings: Settings, listener: socket.socket, serve: Serve) -> int:
    """Run workers until SIGTERM or SIGINT, and replace workers that die; return the exit code.

    The exit code is 1 if a worker died right after its start. `serve` is called in each worker and
    must be a module-level function.
    """
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _frame: stopping.append(caught))

    def started() -> SpawnProcess:
        context = multiprocessing.get_context("spawn")
        worker = context.Process(target=_work, args=(settings, listener, serve))
        worker.start()
        return worker

    workers = {started(): time.monotonic() for _ in range(settings.workers)}
    code = 0
    while not (stopping or code):
        wait([worker.sentinel for worker in workers], _LOOK_SECONDS)
        for worker in [one for one in workers if not one.is_alive() and not stopping]:
            _log.error("serve.worker_died", extra={"worker": worker.pid, "code": worker.exitcode})
            code = int(time.monotonic() - workers.pop(worker) < _EARLY_SECONDS)
            workers[started()] = time.monotonic()
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()
    return code


def end_with_parent(stop: Callable[[], None]) -> None:
    """Call `stop` in this worker's event loop when the parent process has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        loop, gone = asyncio.get_running_loop(), int(parent.sentinel)

        def on_end() -> None:
            loop.remove_reader(gone)
            stop()

        loop.add_reader(gone, on_end)


def _work(settings: Settings, listener: socket.socket, serve: Serve) -> None:
    # This handler applies until the server installs its handlers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with logging_to(sys.stderr, settings, server=True):
        serve(settings, listener)
