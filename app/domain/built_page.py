"""Checks a deep link against the page that a site generator built."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from app.domain.links import TEXT_DIRECTIVE
from app.domain.page_text import PageText


@dataclass(frozen=True, slots=True)
class BuiltPage:
    """The ids of a page's elements, and its text as a reader sees it."""

    ids: frozenset[str]
    text: PageText

    def fault(self, url: str) -> str:
        """Return the fault of a link to this page; "" if its anchor and quote are found."""
        anchor, _, directive = urlsplit(url).fragment.partition(TEXT_DIRECTIVE)
        if anchor and unquote(anchor) not in self.ids:
            return f"no element has the id {unquote(anchor)!r}"
        if not directive:
            return ""
        quote, _, suffix = directive.partition(",-")
        found = self.text.count(unquote(quote), unquote(suffix))
        if found == 1:
            return ""
        shown = " ".join(part for part in (unquote(quote), unquote(suffix)) if part)
        return f"the quote occurs {found} times: {shown!r}" if found else f"no quote {shown!r}"
