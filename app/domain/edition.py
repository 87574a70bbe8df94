"""Editions of a book: its versions and locales."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from urllib.parse import unquote, urlsplit

from app.domain.book_id import BookId

_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Edition:
    """A version and a locale of a book, as the site names them.

    Each edition is a complete book with separate paragraph ids, ledger and generations. The version
    is "" in a book with one version, the locale is "" in a book with one locale.
    """

    version: str = ""
    locale: str = ""
    in_id: tuple[str, str] = ("", "")
    """Version and locale, each "" if it is the default one."""

    @classmethod
    def named(cls, version: str, locale: str) -> Edition:
        """Return the edition with these names in its id."""
        return cls(version, locale, (version, locale))

    def id_of(self, book: BookId) -> BookId:
        """Return the id of this edition; for the default edition it is the book's id."""
        version, locale = map(_label, self.in_id)
        return BookId(f"{book}{version and f'@{version}'}{locale and f'+{locale}'}")


ONLY = Edition()
"""The edition of a book that has only one."""


def _label(text: str) -> str:
    plain = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:_LENGTH]
    return plain or (text and sha256(text.encode(errors="replace")).hexdigest()[:8])


def edition_at(page_url: str, editions: Sequence[tuple[BookId, str]]) -> BookId | None:
    """Return the edition of a page, given by URL or path; None if there is none.

    `editions` are ids with their root URLs. The longest root that contains the page wins. If no
    root has the page's host, only paths are compared, so that previews of a site work.
    """
    own = [one for one in editions if _is_below(page_url, one[1])]
    path = _path(page_url)
    found = own or [one for one in editions if _is_below(path, _path(one[1]))]
    return max(found, key=lambda one: len(_path(one[1])), default=(None, ""))[0]


def site_root(roots: Sequence[str]) -> str:
    """Return the URL of the site that holds the editions with these roots."""
    parts = zip(*(root.rstrip("/").split("/") for root in roots), strict=False)
    common = takewhile(lambda same: len(set(same)) == 1, parts)
    return "/".join(part for part, *_ in common)


def _is_below(url: str, root: str) -> bool:
    return f"{url}/".startswith(f"{root.rstrip('/')}/")


def _path(url: str) -> str:
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return url
