"""URLs: percent-encoding, the check of a base URL, and deep links to words of a page.

Every URL is ASCII without quotes, parentheses, angle brackets, blanks or control characters. So it
needs no escaping in an HTML attribute, a header or a Markdown link. Browsers decode a fragment
before they look for the id. A deep link is the URL of a page, an anchor, and a text fragment that
finds the quoted words in the text of the page.

Text fragments: https://wicg.github.io/scroll-to-text-fragment/
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import normalize
from urllib.parse import quote, unquote, urlencode, urlsplit

from app.domain.book_id import BookId
from app.domain.errors import InputError

# RFC 3986 also allows the apostrophe and parentheses, which end attributes and links.
_UNSAFE = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9%._~!$&*+,;=:@/?#\[\]-]")
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63})*\.?|[\da-fA-F]*:[\da-fA-F:.]*", re.ASCII)
_LABEL = re.compile(r"[^./:]+")
_NOT_BASE = re.compile(r"[ \\?#]")
TEXT_DIRECTIVE = ":~:text="
USUAL_WORDS = (4, 6, 12)
"""Numbers of words tried for a text fragment, in this order."""
FEW_WORDS = (3, 2, 1)
"""Numbers tried if no usual one is unique; only for a whole run."""
SUFFIX_WORDS = 4
"""Maximum number of words of a suffix, and of the text before it."""

COMBINING_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u1ab0-\u1aff"
    "\u1dc0-\u1dff\u200b-\u200d\ufe00-\ufe0f"
)
LETTERS = rf"[\w{COMBINING_MARKS}]+"

WORD = re.compile(rf"{LETTERS}(?:['\u2019]{LETTERS}|(?<=\d)[.,](?=\d){LETTERS})*")
"""A word as in Chromium's search: `size_of`, `don't`, `3.14` are one word, `docs.org` two."""


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
        message = f"base URL {shown!r}: not an http or https URL such as https://book.example/docs"
        raise InputError(message)
    if not parts.netloc.isascii():
        parts = parts._replace(netloc=in_ascii(parts.netloc))
    return encoded_url(parts.geturl())


def _encoded(text: str) -> str:
    """Percent-encode text for a text directive, whose syntax uses `-`, `,` and `&`."""
    return quote(text, safe="", errors="replace").replace("-", "%2D")


def deep_link(url: str, text: str, suffix: str = "") -> str:
    """Return `url` with a text fragment for `text`, followed by `suffix` if given."""
    if not text:
        return url
    directive = _encoded(text) + (f",-{_encoded(suffix)}" if suffix else "")
    return f"{url}{'' if '#' in url else '#'}{TEXT_DIRECTIVE}{directive}"


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


def folded_words(text: str) -> str:
    """Join folded words by two blanks, so that adjacent matches share no blank."""
    found = WORD.findall(text.lower()) if text.isascii() else map(fold_word, WORD.findall(text))
    return f" {'  '.join(found)} "


def fold_word(word: str) -> str:
    """Fold case and accents, as the browser's search does."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold().replace("\u2019", "'"))
    return "".join(char for char in decomposed if char.isalnum() or char in "'_.,") or word


@dataclass(frozen=True, slots=True)
class PageText:
    """The folded words of a page, headings included, for links to quotes."""

    words: str
    """Each word has a blank on both sides; " | " separates blocks."""

    @classmethod
    def of(cls, blocks: Iterable[str]) -> PageText:
        return cls(" | ".join(folded_words(block) for block in blocks))

    def count(self, quote: str, suffix: str = "") -> int:
        """Return whether these words are on the page, followed by the suffix: 0, 1, 2 or more.

        A block boundary is allowed only between quote and suffix.
        """
        wanted = folded_words(quote)
        if not suffix:
            return self._count(wanted)
        behind = folded_words(suffix)
        return self._count(wanted + behind) + self._count(f"{wanted} | {behind}")

    def _count(self, folded: str) -> int:
        """Return 0, 1, or 2 for more; those that overlap are two, as "row row" in "row row row"."""
        first = self.words.find(folded)
        return 0 if first < 0 else 1 + (self.words.find(folded, first + 1) >= 0)
