"""A local HTTP server that answers as Qdrant does and keeps the requests that it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Json: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: Json
    headers: dict[str, str]

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    result: object = True
    error: str = ""
    raw: bytes | None = None
    """The whole body, in place of Qdrant's envelope."""

    def content(self) -> bytes:
        if self.raw is not None:
            return self.raw
        status: object = {"error": self.error} if self.error else "ok"
        return json.dumps({"result": self.result, "status": status, "time": 0.001}).encode()


Answer: TypeAlias = Callable[[Request], Reply]


@dataclass(slots=True)
class QdrantDouble:
    """`routes` maps the start of "METHOD /path" to what answers; the longest match wins."""

    url: str = ""
    routes: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        matches = [start for start in self.routes if request.line.startswith(start)]
        if not matches:
            return Reply(404, None, f"no route for {request.line}")
        return self.routes[max(matches, key=len)](request)


@contextmanager
def qdrant_double() -> Iterator[QdrantDouble]:
    double = QdrantDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = double.answer(Request(self.command, self.path, body, headers))
            content = reply.content()
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - their names

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    double.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def version(number: str = "1.19.0") -> Reply:
    return Reply(raw=json.dumps({"title": "qdrant", "version": number}).encode())
