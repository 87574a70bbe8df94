"""An HTTP server on a free port of this machine, in a thread: what the doubles are made of."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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


@contextmanager
def static_site(folder: Path, port: int = 0) -> Iterator[str]:
    """Yield the address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def translate_path(self, path: str) -> str:
            found = super().translate_path(path)
            # As static hosts do: /page is /page.html.
            page = Path(found)
            return (
                f"{found}.html" if not page.exists() and Path(f"{found}.html").exists() else found
            )

    with local_server(partial(Quiet, directory=str(folder)), port=port) as server:
        yield server.url
