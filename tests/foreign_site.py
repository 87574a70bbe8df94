"""A site of somebody else that embeds the widget: plain HTML at another origin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.browsing import BOOK
from tests.local_http import Handler, local_server


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
    doctype: str = "<!doctype html>"
    """Without it, as in pages of DocBook, browsers scroll the body."""

    def html(self) -> str:
        return (
            f'{self.doctype}<html lang="en"><head><meta charset="utf-8"><title>Owls</title>'
            f'<link rel="icon" href="data:,">{self.head}{self.tag}</head>'
            f"<body><main>{self.article}</main></body></html>"
        )


@contextmanager
def foreign_site() -> Iterator[ForeignSite]:
    site = ForeignSite()

    class Page(Handler):
        def get(self) -> None:
            policy = {"Content-Security-Policy": site.policy} if site.policy else {}
            headers = {"Content-Type": "text/html; charset=utf-8", **policy}
            self.respond(200, headers, site.html().encode())

    with local_server(Page) as server:
        site.address = server.url
        yield site
