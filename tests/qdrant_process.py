"""Qdrant processes on this machine, started from the program that QDRANT_TEST_BINARY names."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BINARY = os.environ.get("QDRANT_TEST_BINARY", "")
NO_BINARY = "QDRANT_TEST_BINARY is not set: no test started, stopped or filled a Qdrant server"


@dataclass(slots=True)
class QdrantNode:
    """A server at `url` with its data in `folder`; gRPC and the cluster take the next two ports."""

    binary: str
    url: str
    folder: Path
    first: str | None = None
    """URL of the cluster's first node, this one's own at the first; None without a cluster."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment, e.g. QDRANT__SERVICE__API_KEY."""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; `wait` until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = []
        if self.first:
            arguments = ["--uri", _peer(self.url)]
            if self.first != self.url:
                arguments += ["--bootstrap", _peer(self.first)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.binary, *arguments],
                cwd=self.folder,
                env=os.environ | self._environment() | dict(self.settings),
                stdout=log,
                stderr=log,
            )

    def wait(self, path: str = "/readyz", seconds: float = 60.0) -> None:
        """Until the address answers 200. TimeoutError."""
        end = time.monotonic() + seconds
        while not self.answers(path):
            if time.monotonic() > end:
                message = f"{self.url}{path}: no answer in {seconds:.0f} s, see {self.folder}/log"
                raise TimeoutError(message)
            time.sleep(0.05)

    def answers(self, path: str = "/readyz") -> bool:
        try:
            with urllib.request.urlopen(self.url + path, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def is_whole(self) -> bool:
        """Whether every copy of every shard is active, as this node sees it."""
        try:
            names = [one["name"] for one in self._get("/collections")["collections"]]
            shards = [self._get(f"/collections/{name}/cluster") for name in names]
        except OSError:
            return False
        return all(
            one["state"] == "Active"
            for found in shards
            for one in found["local_shards"] + found["remote_shards"]
        ) and not any(found["shard_transfers"] for found in shards)

    def _get(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(self.url + path, timeout=2) as answer:
            result: dict[str, Any] = json.loads(answer.read())["result"]
        return result

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

    def _environment(self) -> dict[str, str]:
        port = _port(self.url)
        return {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(port),
            "QDRANT__SERVICE__GRPC_PORT": str(port + 1),
            "QDRANT__CLUSTER__ENABLED": "true" if self.first else "false",
            "QDRANT__CLUSTER__P2P__PORT": str(port + 2),
            "QDRANT__STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            # By default a node that comes back answers before it has replayed the end of its log.
            "QDRANT__STORAGE__UPDATE_QUEUE_SIZE": "1",
            "QDRANT__TELEMETRY_DISABLED": "true",
        }


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


def start_cluster(binary: str, urls: Sequence[str], folder: Path) -> list[QdrantNode]:
    """Nodes at these URLs, all ready; stop each at the end."""
    nodes = [
        QdrantNode(binary, url, folder / f"node-{number}", first=urls[0])
        for number, url in enumerate(urls, 1)
    ]
    try:
        for node in nodes:
            node.start()
            node.wait("/healthz")
        for node in nodes:
            node.wait()
    except BaseException:
        for node in nodes:
            node.stop(signal.SIGKILL)
        raise
    return nodes


def wait_whole(nodes: Sequence[QdrantNode], seconds: float = 120.0) -> None:
    """Until every copy of every shard is active, so that another node may be lost. TimeoutError."""
    end = time.monotonic() + seconds
    for node in nodes:
        node.wait()
    for _ in range(2):  # a copy can be set aside shortly after its node is ready
        time.sleep(0.5)
        while not all(node.is_whole() for node in nodes):
            if time.monotonic() > end:
                message = f"not every copy is active after {seconds:.0f} s"
                raise TimeoutError(message)
            time.sleep(0.1)


def _port(url: str) -> int:
    port = urlsplit(url).port
    if port is None:
        message = f"{url} has no port"
        raise ValueError(message)
    return port


def _peer(url: str) -> str:
    return f"http://127.0.0.1:{_port(url) + 2}"
