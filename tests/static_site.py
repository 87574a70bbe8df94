"""Serves a folder as static hosts do: `/page` is also `/page.html`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


@contextmanager
def static_site(folder: Path, port: int = 0, policy: str = "") -> Iterator[str]:
    """Yield the address; `policy` is the pages' Content-Security-Policy."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def end_headers(self) -> None:
            if policy:
                self.send_header("Content-Security-Policy", policy)
            super().end_headers()

        def translate_path(self, path: str) -> str:
            found = super().translate_path(path)
            # As static hosts do: /page is /page.html.
            page = Path(found)
            return (
                f"{found}.html" if not page.exists() and Path(f"{found}.html").exists() else found
            )

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None: ...  # browsers leave in mid-response

    server = Server(("127.0.0.1", port), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
