"""Addresses: percent-encoded wherever they are made, and checked where somebody gives one.

Every address is ASCII without quotes, brackets of mark-up, blanks or control characters, so it can
stand in an HTML attribute, a header and a Markdown link as it is. Browsers decode a fragment before
they look for the id.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode, urlsplit

from app.domain.errors import InputError

# What RFC 3986 allows, but for the apostrophe and the parentheses, which end attributes and links.
_UNSAFE = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9%._~!$&*+,;=:@/?#\[\]-]")
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_NOT_PATH = {"?": "%3F", "#": "%23"}


def encoded_url(url: str) -> str:
    """Percent-encode what is not safe in an address; what is encoded already stays as it is."""
    return _UNSAFE.sub(lambda match: quote(match.group(), safe="", errors="replace"), url)


def encoded_path(path: str) -> str:
    """Percent-encode a path, in which `?` and `#` are letters like others."""
    return re.sub(r"[?#]", lambda match: _NOT_PATH[match.group()], encoded_url(path))


def with_anchor(url: str, anchor: str) -> str:
    """Return the address of an id in a page; of the page where there is no id."""
    return f"{url}#{encoded_url(anchor).replace('#', '%23')}" if anchor else url


def permalink(paragraph_id: str, book: str) -> str:
    """Return the path of `GET /cite/{paragraph_id}`, relative to where the API is mounted."""
    return f"/cite/{quote(paragraph_id, safe='')}?{urlencode({'book': book})}"


def checked_base_url(text: str) -> str:
    """Return a site's address as all of its pages' begin, ASCII; "" stays.

    InputError unless it is an http or https address with a host, and without user name, query,
    fragment, blanks and control characters.
    """
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
    except ValueError:
        raise _refused(text) from None
    plain = text.isprintable() and not any(character in text for character in " \\?#")
    if (
        not plain
        or "@" in parts.netloc
        or parts.scheme not in ("http", "https")
        or not _HOST.fullmatch(host)
    ):
        raise _refused(text)
    if not parts.netloc.isascii():
        parts = parts._replace(netloc=host if port is None else f"{host}:{port}")
    return encoded_url(parts.geturl())


def _refused(text: str) -> InputError:
    shown = re.sub(r"//[^/]*@", "//...@", text)  # what stands there may be a password
    message = f"base URL {shown!r}: not an http or https address such as https://book.example/docs"
    return InputError(message)
