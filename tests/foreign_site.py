"""A site of somebody else that embeds the widget: plain HTML at another origin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.browsing import BOOK


def tag(server: str, attributes: str = "defer", path: str = "/widget.js") -> str:
    return f'<script src="{server}{path}" data-book="{BOOK}" {attributes}></script>'


@dataclass
class ForeignSite:
    """Serves the same page at every path; the page may be changed between requests."""

    address: str = ""
    tag: str = ""
    policy: str = ""
    article: str = "<h1>Owls</h1><p>Owls hunt at night.</p>"
    head: str = ""

    def html(self) -> str:
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Owls</title>'
            f'<link rel="icon" href="data:,">{self.head}{self.tag}</head>'
            f"<body><main>{self.article}</main></body></html>"
        )


@contextmanager
def foreign_site() -> Iterator[ForeignSite]:
    site = ForeignSite()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = site.html().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if site.policy:
                self.send_header("Content-Security-Policy", site.policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
