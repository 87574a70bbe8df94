"""Server processes that are measured from outside, and a fast client for them."""

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

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process in KB: its own, and mapped pages of files, which can be reclaimed."""

    own: int
    mapped: int

    def __str__(self) -> str:
        return f"{self.own / 1024:,.0f} MB own, {self.mapped / 1024:,.0f} MB mapped"

    def per(self, chunks: int) -> str:
        return f"{self.own / chunks:.2f} KB own, {self.mapped / chunks:.2f} KB mapped"


def memory_of(pid: int) -> Memory:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return Memory(int(sizes["RssAnon"]), int(sizes["RssFile"]))


@contextmanager
def server(arguments: Sequence[str], env: Mapping[str, str]) -> Iterator[Server]:
    """Yield a server that is starting at the port that `env` names; see `request_when_up`."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
        cwd=ROOT,
    )
    try:
        yield Server(int(env["RAG_PORT"]), process.pid, started)
    finally:
        process.terminate()
        process.wait()


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
        writer.write(head(method, path, body, "Connection: close"))
        return await reader.read()
    finally:
        writer.close()


def head(method: str, path: str, body: object, *more: str) -> bytes:
    """The bytes of a request."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = (
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        *more,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
