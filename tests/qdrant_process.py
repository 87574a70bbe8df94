"""Qdrant processes on this machine, started from the program that QDRANT_TEST_BINARY names."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

BINARY = os.environ.get("QDRANT_TEST_BINARY", "")
NO_BINARY = "QDRANT_TEST_BINARY is not set: no test started, stopped or filled a Qdrant server"


@dataclass(slots=True)
class QdrantNode:
    """A server at `url` with its data in `folder`; gRPC takes the next port."""

    binary: str
    url: str
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment, e.g. QDRANT__SERVICE__API_KEY."""
    arguments: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; `wait` until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        port = port_of(self.url)
        environment = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(port),
            "QDRANT__SERVICE__GRPC_PORT": str(port + 1),
            "QDRANT__STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            # By default a node that comes back answers before it has replayed the end of its log.
            "QDRANT__STORAGE__UPDATE_QUEUE_SIZE": "1",
            "QDRANT__TELEMETRY_DISABLED": "true",
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.binary, *self.arguments],
                cwd=self.folder,
                env={**os.environ, **environment, **self.settings},
                stdout=log,
                stderr=log,
            )

    def wait(self, path: str = "/readyz") -> None:
        """Until the address answers 200. TimeoutError."""
        end = time.monotonic() + 60
        while not self.answers(path):
            if time.monotonic() > end:
                message = f"{self.url}{path}: no answer in a minute, see {self.folder}/log"
                raise TimeoutError(message)
            time.sleep(0.05)

    def answers(self, path: str = "/readyz") -> bool:
        try:
            return httpx.get(self.url + path, timeout=2).is_success
        except httpx.HTTPError:
            return False

    def stop(self, kind: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal and wait for the end; SIGKILL is `kill -9`."""
        if self.process is None:
            return
        self.process.send_signal(kind)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


def free_urls(count: int = 1) -> list[str]:
    """Return addresses with three free ports each, which are let go before they are used."""
    found: list[str] = []
    base = 20_000 + os.getpid() % 10_000
    while len(found) < count:
        try:
            for port in range(base, base + 3):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            found.append(f"http://127.0.0.1:{base}")
        except OSError:
            pass
        base += 3
    return found


def port_of(url: str) -> int:
    return urlsplit(url).port or 80
