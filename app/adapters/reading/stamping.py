"""Writes ids into the start tags of a page; no other byte of it changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from app.adapters.reading.tree import SPAN

_TAG = re.compile(
    rb"<(?:!--.*?(?:-->|\Z)"
    rb"|(?P<raw>script|style|textarea|title|xmp|iframe|noframes)(?=[\s/>]).*?(?:</(?P=raw)|\Z)"
    rb"|(?P<name>[a-z][^\s/>]*+)"
    rb"(?P<attributes>(?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+)(?P<end>>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
"""A start tag, or what holds no tags: a comment, a script."""
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_ID = re.compile(rb"(?:^|[\s\"/])id\s*=", re.IGNORECASE)
_PAGE = frozenset({b"html", b"head", b"body", b"main", b"article"})
"""Elements that are no block, whatever text is directly in them."""


def marked(html: bytes, span: str = "") -> bytes:
    """Return HTML with a source span in each start tag: this, or the tag's place in bytes."""

    def mark(tag: re.Match[bytes]) -> bytes:
        if not tag["end"] or tag["name"].lower() in _PAGE:
            return tag[0]
        place = f' {SPAN}="{span or f"{tag.start()}:{tag.end()}"}"'.encode()
        return b"<" + tag["name"] + place + tag["attributes"] + b">"

    return _TAG.sub(mark, html)


def stamped(html: bytes, ids: Mapping[int, str]) -> tuple[bytes, int]:
    """Write the ids into the start tags at these places; return the page and how many are new.

    A tag that has an id keeps it.
    """
    new = 0

    def stamp(tag: re.Match[bytes]) -> bytes:
        nonlocal new
        ident = ids.get(tag.start()) if tag["end"] else None
        if ident is None or _ID.search(_QUOTED.sub(b'""', tag["attributes"])):
            return tag[0]
        new += 1
        return b"<" + tag["name"] + f' id="{escape(ident)}"'.encode() + tag["attributes"] + b">"

    return _TAG.sub(stamp, html), new
