"""Serves a folder as static hosts do: `/page` is also `/page.html`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

from tests.local_http import local_server


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
