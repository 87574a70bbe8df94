"""A fast HTTP client: one kept-alive connection, from its own address."""

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Self

_HEADER = re.compile(
    rb"^(content-length|transfer-encoding|retry-after|connection): *(.*)$", re.M | re.I
)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    """0 if the connection broke."""
    began: float
    seconds: float
    retry_after: float | None = None
    whole: bool = True
    """Whether a stream reached its last event."""


class Connection:
    def __init__(self, port: int, number: int) -> None:
        """`number` determines the address 127.1.x.y, which counts as a separate reader."""
        self._port = port
        self._address = f"127.1.{number // 250}.{number % 250 + 1}"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    async def ask(self, request: bytes, arrived: float | None = None) -> Reply:
        """Send the request; latency counts from `arrived`, or from now."""
        began = time.perf_counter() if arrived is None else arrived
        try:
            reader, writer = await self._open()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            headers = {name.lower(): value.strip() for name, value in _HEADER.findall(head)}
            body = await _body(reader, headers)
            if headers.get(b"connection") == b"close":
                self._close()
        except (OSError, asyncio.IncompleteReadError):
            self._close()
            return Reply(0, began, time.perf_counter() - began)
        status = int(head.split(b" ", 2)[1])
        wait = headers.get(b"retry-after")
        streamed = b"transfer-encoding" in headers
        whole = not streamed or b"event: end" in body
        seconds = time.perf_counter() - began
        return Reply(status, began, seconds, float(wait) if wait else None, whole)

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            self._close()
            self._streams = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=(self._address, 0)
            )
        return self._streams

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _body(reader: asyncio.StreamReader, headers: dict[bytes, bytes]) -> bytes:
    if b"content-length" in headers:
        return await reader.readexactly(int(headers[b"content-length"]))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body
