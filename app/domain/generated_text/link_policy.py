"""Removes links from a generated answer: the model is told to write none, and citations lead on.

Each unit is read as CommonMark, with what renderers do that turn addresses in text into links. A
link is replaced by its label, an image by its alternative text, an address by
"(link removed)" or, if the book's text has it too, by code. HTML and link definitions are escaped.
Code and all other text stays unchanged. Where the text on both sides could form new mark-up, a
replacement contains a space or parentheses.
"""

from __future__ import annotations

import re

from app.domain.generated_text import link_syntax as syntax
from app.domain.generated_text.fences import at_margin

REMOVED_LINK, REMOVED_IMAGE = "(link removed)", "(image removed)"
_ADDRESS_MARKS = frozenset(":/.\\&#?@%<")
_ENDS_SENTENCE = frozenset("\u3002\uff01\uff1f")


class LinkPolicy:
    """Decides unit by unit what is shown."""

    def __init__(self, book_text: str = "") -> None:
        """Addresses of `book_text` may be shown, as code."""
        self._mentioned = syntax.addresses(book_text)
        self._last = "\n"
        self._cells = False
        """A code span of the line has a `|`: in a table row the cells end there, so that code after
        it may be text."""

    def shown(self, text: str, *, fence: bool = False) -> str:
        """Return what is shown of the next unit: a sentence, a line or, maybe, a fence of code.

        A unit that does not follow a blank or the end of a sentence gets a blank before it.
        """
        last, self._last = self._last, text[-1:] or self._last
        if fence and (code := at_margin(text)):
            return code
        if last == "\n":
            self._cells = False
        elif not last.isspace() and last not in _ENDS_SENTENCE:
            text = f" {text}"
        return syntax.HTML.sub(self._html, syntax.CONSTRUCT.sub(self._construct, text))

    def _construct(self, found: re.Match[str]) -> str:
        whole = found[0]
        if found["code"]:
            self._cells = self._cells or "|" in whole
            return syntax.spread(whole) if self._cells else whole
        if found["ticks"]:
            return "".join(f"\\{one}" for one in whole)
        if found["autolink"]:
            return self._instead(found, found["autolink"])
        if found["address"] or found["label"] is not None:
            return self._address(found) if found["address"] else self._link(found)
        if found["bracket"]:
            return f"{whole} " if found.string.startswith("(", found.end()) else f"{whole}\\"
        hidden = found["reference"] and syntax.hides_an_address(whole)
        return f"\\{whole}" if hidden else whole

    def _link(self, found: re.Match[str]) -> str:
        written, label, whole = found["target"], found["label"], found[0]
        if written.strip("<>") and _ADDRESS_MARKS.isdisjoint(written):
            return whole.replace("](", "] (", 1)  # f[x](t) of a formula, rather than a link
        if syntax.HAS_ADDRESS.search(label) or not label.strip():
            return _apart(found, REMOVED_IMAGE if found["image"] else REMOVED_LINK)
        return label if _reads_alone(found) else _apart(found, f"({label})")

    def _address(self, found: re.Match[str]) -> str:
        address = found["address"].rstrip(".,;:!?_~") or found["address"]
        rest = found["address"][len(address) :]
        return self._instead(found, address) + rest

    def _instead(self, found: re.Match[str], address: str) -> str:
        """Return the replacement of an address."""
        text, (start, end) = found.string, found.span()
        beside = text[max(0, start - 1) : start], text[end : end + 1]
        if address in self._mentioned and "`" not in beside and not self._cells:
            return f"`{address}`"
        return _apart(found, REMOVED_LINK)

    def _html(self, found: re.Match[str]) -> str:
        if found["begins"] is not None:
            return f"{found['begins']}\\<"
        return f"\\{found[0]}" if found["tag"] or found["autolink"] else found[0]


def _apart(found: re.Match[str], put: str) -> str:
    """Return the text, with a space before it if a `]` would make it a link target."""
    return f" {put}" if found.string[: found.start()].endswith("]") else put


def _reads_alone(link: re.Match[str]) -> bool:
    """Whether the label needs no parentheses: its words are apart from the text around it."""
    text, label = link.string, link["label"]
    mark, after = text[link.end() : link.end() + 1], text[link.end() + 1 : link.end() + 2]
    ends = not mark.strip() or (mark in ".,;:!?)" and not after.strip())
    words = label[0].isalnum() and label[-1].isalnum()
    return words and ends and not text[max(0, link.start() - 1) : link.start()].strip()
