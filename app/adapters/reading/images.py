"""The images of a page: their addresses, and captions that stand below them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from app.adapters.reading.drafts import Draft
from app.domain.document import BlockKind, Figure
from app.domain.urls import encoded_url

_MAX_CHARS = 2_000
"""A longer address, such as one that holds the image itself, is none."""
_MAX_CAPTION = 600
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|abb(?:ildung|\.)|figura|ilustración|schéma|图|圖|図|चित्र|الشكل|شکل)\s*[\d०-९٠-٩۰-۹]",
    re.IGNORECASE,
)


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


def captioned(drafts: Sequence[Draft], at: int) -> Figure | None:
    """Return the image of a block, with the paragraph below it that begins "Figure 1" as caption.

    None if the block has no image with an address.
    """
    figure = drafts[at].figure
    if figure is None or not figure.url:
        return None
    below = drafts[at + 1] if at + 1 < len(drafts) else drafts[at]
    is_caption = below.kind is BlockKind.PARAGRAPH and _CAPTION.match(below.text)
    if figure.caption or not is_caption or len(below.text) > _MAX_CAPTION:
        return figure
    return replace(figure, caption=below.text)
