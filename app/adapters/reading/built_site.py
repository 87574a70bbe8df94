"""Reads the HTML of a built site, from its folder or its address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import httpx

from app.adapters.reading.shown_text import shown_text
from app.adapters.reading.source_files import SourceFiles
from app.adapters.reading.tree import parse
from app.domain.errors import InputError
from app.domain.page_text import BuiltPage
from app.services.threads import in_thread

_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FolderSite:
    """A site in a folder. `base_url` is the URL of its root in the book's links."""

    files: SourceFiles
    base_url: str

    @in_thread
    def page(self, url: str) -> BuiltPage | None:
        """Return the page that a static host serves at this URL; None if there is no file."""
        name = unquote(_inside(url, self.base_url)).rstrip("/")
        tries = (name, f"{name}.html", f"{name}/index.html") if name else ("index.html",)
        file = next(filter(self.files.has, tries), "")
        return read_page(self.files.data(file)) if file else None


@dataclass(frozen=True, slots=True)
class WebSite:
    """A site at an address that replaces `base_url` in the book's links."""

    client: httpx.AsyncClient
    address: str
    base_url: str

    async def page(self, url: str) -> BuiltPage | None:
        """Follow redirects and return the page; None if its status is not 200 or it is not HTML."""
        address = f"{self.address.rstrip('/')}/{_inside(url, self.base_url)}"
        try:
            response = await self.client.get(
                address, follow_redirects=True, timeout=_TIMEOUT_SECONDS
            )
        except httpx.HTTPError as error:
            message = f"{address}: cannot be read ({type(error).__name__}): check the address"
            raise InputError(message) from error
        is_html = "html" in response.headers.get("content-type", "")
        return (
            read_page(response.content)
            if response.status_code == httpx.codes.OK and is_html
            else None
        )


def _inside(url: str, base_url: str) -> str:
    """Return the path of a page below the site's root, without a slash at its beginning."""
    path, base = urlsplit(url).path, urlsplit(base_url).path.rstrip("/")
    return path.removeprefix(base).lstrip("/") if path.startswith(f"{base}/") else ""


def read_page(html: bytes) -> BuiltPage:
    """Read the ids and the text of a page, also in closed details and hidden tabs."""
    root = parse(html, "")
    return BuiltPage(frozenset(map(str, root.xpath("//@id | //a/@name"))), shown_text(root))
