"""Server processes that are measured from outside, and a fast client for them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    started: float
    """By the clock of `time.perf_counter`."""

    def megabytes(self, name: str = "VmRSS") -> float:
        """Resident memory; RssAnon is the process's own, RssFile mapped pages of files."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii")
        line = next(line for line in status.splitlines() if line.startswith(name))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def child(
    arguments: Sequence[str], env: Mapping[str, str] | None = None, *, quiet: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Run Python with these arguments from the repository's folder, until the block ends.

    `quiet` leaves out what it says to people.
    """
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        text=True,
        env={**os.environ, **(env or {})},
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def server(
    arguments: Sequence[str], env: Mapping[str, str], *, quiet: bool = False
) -> Iterator[Server]:
    """Yield a server that is starting at the port that `env` names; see `request_when_up`."""
    started = time.perf_counter()
    with child(arguments, env, quiet=quiet) as process:
        yield Server(int(env["RAG_PORT"]), process.pid, started)


async def request_when_up(port: int, method: str, path: str, body: object = None) -> bytes:
    """Return the response, repeating the request until the server listens."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return await request(port, method, path, body)
        except OSError:
            assert time.monotonic() < deadline, "the server does not answer"
            await asyncio.sleep(0.005)


async def request(port: int, method: str, path: str, body: object = None) -> bytes:
    """Return the complete response with its status line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head(method, path, body))
        return await reader.read()
    finally:
        writer.close()


def head(method: str, path: str, body: object) -> bytes:
    """The bytes of a request."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = (
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        "Connection: close",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
