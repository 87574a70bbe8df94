"""Reads the HTML of a built site, from its folder or its address."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from app.domain.errors import InputError
from app.domain.page_text import BuiltPage, PageText
from app.services.threads import in_thread

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt"
    " ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
"""Every other element begins and ends a block. A text fragment cannot cross a block."""
_NOT_RENDERED = frozenset({"script", "style", "template", "noscript", "title"})
_HIDDEN_CODE = frozenset({"boring", "clipboard-copy-txt"})
"""Classes of the lines of code that mdBook hides, and of mkdocs-jupyter's copies of cells."""
_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FolderSite:
    """A site in a folder. `base_url` is the URL of its root in the book's links."""

    folder: Path
    base_url: str

    @in_thread
    def page(self, url: str) -> BuiltPage | None:
        """Return the page that a static host serves at this URL; None if there is no file."""
        name = unquote(_inside(url, self.base_url)).rstrip("/")
        tries = [name, f"{name}.html", f"{name}/index.html"] if name else ["index.html"]
        for file in ((self.folder / one).resolve() for one in tries):
            if file.is_relative_to(self.folder.resolve()) and file.is_file():
                try:
                    return read_page(file.read_text("utf-8", errors="replace"))
                except OSError as error:
                    message = f"{file}: cannot be read ({error.strerror}): check its rights"
                    raise InputError(message) from error
        return None


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
            read_page(response.text) if response.status_code == httpx.codes.OK and is_html else None
        )


def _inside(url: str, base_url: str) -> str:
    """Return the path of a page below the site's root, without a slash at its beginning."""
    path, base = urlsplit(url).path, urlsplit(base_url).path.rstrip("/")
    return path.removeprefix(base).lstrip("/") if path.startswith(f"{base}/") else ""


def read_page(html: str) -> BuiltPage:
    """Read the ids of a page and the text of its blocks, also in closed details and hidden tabs."""
    reader = _PageReader()
    reader.feed(html)
    reader.close()
    return BuiltPage(frozenset(reader.ids), PageText.of(reader.blocks))


class _PageReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: set[str] = set()
        self.blocks: list[str] = []
        self._hidden_in: list[str] = []
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids.update(filter(None, [named.get("id"), named.get("name") if tag == "a" else None]))
        if tag not in _INLINE:
            self._end_block()
        if tag in _NOT_RENDERED or _HIDDEN_CODE.intersection((named.get("class") or "").split()):
            self._hidden_in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self._end_block()
        if tag in self._hidden_in:
            del self._hidden_in[self._hidden_in.index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self._hidden_in:
            self._text.append(data)

    def close(self) -> None:
        super().close()
        self._end_block()

    def _end_block(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        if text.strip():
            self.blocks.append(text)
