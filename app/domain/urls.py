"""URLs: percent-encoding, the check of a base URL, and the key of a page.

Every URL is ASCII without quotes, parentheses, angle brackets, blanks or control characters. So it
needs no escaping in an HTML attribute, a header or a Markdown link. Browsers decode a fragment
before they look for the id.
"""

import re
from unicodedata import normalize
from urllib.parse import quote, unquote, urlencode, urlsplit

from app.domain.book_id import BookId
from app.domain.errors import InputError

# RFC 3986 also allows the apostrophe and parentheses, which end attributes and links.
_UNSAFE = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9%._~!$&*+,;=:@/?#\[\]-]")
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63})*\.?|[\da-fA-F]*:[\da-fA-F:.]*", re.ASCII)
_LABEL = re.compile(r"[^./:]+")
_NOT_BASE = re.compile(r"[ \\?#]")


def encoded_url(url: str) -> str:
    """Percent-encode unsafe characters of a URL; existing escapes stay."""
    return _UNSAFE.sub(lambda match: quote(match.group(), safe="", errors="replace"), url)


def encoded_path(path: str) -> str:
    """Percent-encode a path, `?` and `#` included."""
    return encoded_url(path).replace("?", "%3F").replace("#", "%23")


def origin_of(url: str) -> str:
    """Return scheme and host of a URL, such as `https://book.example`; "" of a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else ""


def with_anchor(url: str, anchor: str) -> str:
    """Return the URL of an element on the page; of the page itself if `anchor` is empty."""
    return f"{url}#{encoded_url(anchor).replace('#', '%23')}" if anchor else url


def permalink(paragraph_id: str, book: BookId) -> str:
    """Return the path of `GET /cite/{paragraph_id}`, relative to where the API is mounted.

    The query names the book, and its version and locale if they are not the default ones.
    """
    edition = {"book": book.name, "version": book.version, "locale": book.locale}
    query = urlencode({name: value for name, value in edition.items() if value})
    return f"/cite/{quote(paragraph_id, safe='')}?{query}"


def in_ascii(host: str) -> str:
    """Return a host as browsers send it: letters outside ASCII as punycode (RFC 3492)."""
    return _LABEL.sub(_punycode, host)


def _punycode(label: re.Match[str]) -> str:
    text = normalize("NFKC", label[0].lower())
    return text if text.isascii() else f"xn--{text.encode('punycode').decode()}"


def is_web_address(text: str) -> bool:
    """Whether it is an http or https URL with a host, and without query, fragment and blanks."""
    try:
        parts = urlsplit(text)
        host = in_ascii(parts.hostname or "")
        _ = parts.port  # ValueError if it is none
    except ValueError:
        return False
    is_plain = text.isprintable() and not _NOT_BASE.search(text)
    return parts.scheme in ("http", "https") and bool(_HOST.fullmatch(host)) and is_plain


def without_password(text: str) -> str:
    """Return a URL for a message, without the user name and the password that it may have."""
    return re.sub(r"//[^/]*@", "//...@", text)


def checked_base_url(text: str) -> str:
    """Return the base URL, percent-encoded and with an ASCII host; "" is returned as it is.

    InputError unless it is an http or https URL with a host and without user name, query,
    fragment, blanks and control characters.
    """
    if not text:
        return ""
    parts = urlsplit(text) if is_web_address(text) else None
    if parts is None or "@" in parts.netloc:
        shown = without_password(text)
        message = f"address {shown!r}: not an http or https URL such as https://book.example/docs"
        raise InputError(message)
    if not parts.netloc.isascii():
        parts = parts._replace(netloc=in_ascii(parts.netloc))
    return encoded_url(parts.geturl())


def page_key(url: str) -> str:
    """Return the key of a page: its path without `index.html`, `.html` or slash at the end.

    The host is ignored, so that previews of the site at another address work. An invalid URL such
    as "http://[::1" counts as a path, which no page has.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    path = unquote(path).removesuffix("index.html").rstrip("/")
    return path.removesuffix(".html") or "/"
