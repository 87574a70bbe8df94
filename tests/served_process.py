"""The command `serve` in a process of its own, for what only a whole process shows."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tests.command_line import KEYS
from tests.conftest import ROOT


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """Open a connection from this address of the loopback network."""
        return socket.create_connection(("127.0.0.1", self.port), 30, (source, 0))

    def http(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, 30)


def offline_environment(home: Path) -> dict[str, str]:
    """The environment of a process that has no keys, whatever this one has."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    offline = {"RAG_EMBEDDER": "local", "RAG_GENERATOR": "extractive"}
    return {**kept, **offline, "RAG_HOME": str(home), "PYTHONPATH": str(ROOT)}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def served_process(
    home: Path, descriptors: int | None = None, running: str = "pass", **settings: str
) -> Iterator[Served]:
    """Serve until the context ends; `descriptors` is the most that the system allows it.

    `running` is Python code that runs in the process first.
    """
    port = free_port()
    begun = f"{running}; import sys; from app.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", begun, "serve"]
    if descriptors is not None:
        command = ["bash", "-c", f'ulimit -n {descriptors} && exec "$@"', "serve", *command]
    log = home.parent / f"serve-{port}.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=home.parent,
            env={**offline_environment(home), "RAG_PORT": str(port), **settings},
            stderr=stderr,
        )
    try:
        _await_readiness(process, port, log)
        yield Served(process, port, log)
    finally:
        process.kill()
        process.wait()


def _await_readiness(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 30):
            return
        time.sleep(0.05)
    message = f"the server did not start: {log.read_text()}"
    raise AssertionError(message)
