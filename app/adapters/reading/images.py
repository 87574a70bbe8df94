"""The addresses of a page's images."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from app.domain.urls import encoded_url

_MAX_CHARS = 2_000
"""A longer address, such as one that holds the image itself, is none."""


def resolve_images(content: HtmlElement, page_url: str, folder_url: str = "") -> None:
    """Make the addresses of images absolute, or paths from the root of the page's host.

    A path from the root is one below `folder_url`. An address becomes "" if it cannot be known,
    because it is relative and `page_url` is "", or is not one of the web.
    """
    for image in content.iter("img"):
        image.set("src", _resolved((image.get("src") or "").strip(), page_url, folder_url))


def _resolved(src: str, page_url: str, folder_url: str) -> str:
    if not src or len(src) > _MAX_CHARS or not src.isprintable():
        return ""
    rooted = src.startswith("/") and not src.startswith("//")
    try:
        url = urljoin(page_url, folder_url + src if rooted else src)
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.netloc:
        known = parts.scheme in ("", "http", "https")
        return encoded_url(parts._replace(scheme=parts.scheme or "https").geturl()) if known else ""
    return encoded_url(url) if url.startswith("/") and not parts.scheme else ""
