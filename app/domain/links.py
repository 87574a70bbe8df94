"""Deep links: the URL of a page, an anchor, and a text fragment that finds the quoted words in the
text of the page; and their check on the pages of a built site.

Text fragments: https://wicg.github.io/scroll-to-text-fragment/
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote, urldefrag, urlsplit

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


def _encoded(text: str) -> str:
    """Percent-encode text for a text directive, whose syntax uses `-`, `,` and `&`."""
    return quote(text, safe="", errors="replace").replace("-", "%2D")


def deep_link(url: str, text: str, suffix: str = "") -> str:
    """Return `url` with a text fragment for `text`, followed by `suffix` if given."""
    if not text:
        return url
    directive = _encoded(text) + (f",-{_encoded(suffix)}" if suffix else "")
    return f"{url}{'' if '#' in url else '#'}{TEXT_DIRECTIVE}{directive}"


def folded_words(text: str) -> list[str]:
    """Return the words of a text without case and accents."""
    return WORD.findall(text.lower()) if text.isascii() else [*map(fold_word, WORD.findall(text))]


def spaced(words: Iterable[str]) -> str:
    """Join words by two blanks, so that adjacent matches share no blank."""
    return f" {'  '.join(words)} "


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
        return cls(" | ".join(spaced(folded_words(block)) for block in blocks))

    def count(self, quote: str, suffix: str = "") -> int:
        """Return whether these words are on the page, followed by the suffix: 0, 1, 2 or more.

        A block boundary is allowed only between quote and suffix.
        """
        wanted = spaced(folded_words(quote))
        if not suffix:
            return self._count(wanted)
        behind = spaced(folded_words(suffix))
        return self._count(wanted + behind) + self._count(f"{wanted} | {behind}")

    def _count(self, folded: str) -> int:
        """Return 0, 1, or 2 for more; those that overlap are two, as "row row" in "row row row"."""
        first = self.words.find(folded)
        return 0 if first < 0 else 1 + (self.words.find(folded, first + 1) >= 0)


@dataclass(frozen=True, slots=True)
class BuiltPage:
    """A page that a site generator built: the ids of its elements, and its text as it is shown."""

    ids: frozenset[str]
    text: PageText

    def fault(self, url: str) -> str:
        """Return the fault of a link to this page; "" if its anchor and quote are found."""
        anchor, _, directive = urlsplit(url).fragment.partition(TEXT_DIRECTIVE)
        if anchor and unquote(anchor) not in self.ids:
            return f"no element has the id {unquote(anchor)!r}"
        if not directive:
            return ""
        said, _, suffix = map(unquote, directive.partition(",-"))
        found = self.text.count(said, suffix)
        if found == 1:
            return ""
        shown = f"{said} {suffix}".rstrip()
        return f"the quote is not unique: {shown!r}" if found else f"no quote {shown!r}"


@dataclass(frozen=True, slots=True)
class DeepLink:
    """A paragraph's deep link. `start` is the paragraph's first code point in its file."""

    paragraph_id: str
    url: str
    kind: str
    file: str
    start: int


@dataclass(frozen=True, slots=True)
class Miss:
    """A broken link, or a missing page with all links to it."""

    file: str
    url: str
    fault: str
    paragraph_id: str = ""


def check_links(
    links: Iterable[DeepLink], page_at: Callable[[str], BuiltPage | None]
) -> list[Miss]:
    """Return the misses in reading order; `page_at` reads each page once, None if there is none."""
    by_page: dict[str, list[DeepLink]] = {}
    for link in links:
        by_page.setdefault(urldefrag(link.url).url, []).append(link)
    misses: list[Miss] = []
    for url, own in by_page.items():
        page = page_at(url)
        if page is None:
            misses.append(Miss(own[0].file, url, f"no such page, {len(own)} links"))
            continue
        faults = ((link, page.fault(link.url)) for link in own)
        misses += [Miss(one.file, one.url, why, one.paragraph_id) for one, why in faults if why]
    return misses
