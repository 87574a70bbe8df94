"""An HTTP server on a free port of this machine, in a thread: what the doubles are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeVar


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Clients that leave are part of the tests; no tracebacks."""


AnyServer = TypeVar("AnyServer", bound=Server)


class Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post()

    def get(self) -> None:
        self.send_error(405)

    def post(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def respond(self, status: int, headers: Mapping[str, str], content: bytes = b"") -> None:
        """Send a whole response; a `Content-Length` in `headers` counts."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def local_server(handler: Callable[..., BaseHTTPRequestHandler], port: int = 0) -> Iterator[Server]:
    """Serve until the context ends."""
    with running(Server(("127.0.0.1", port), handler)) as server:
        yield server


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    with server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
