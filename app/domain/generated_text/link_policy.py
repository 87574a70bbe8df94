"""Removes links from a generated answer, except those to the consulted passages.

The answer is parsed as CommonMark while it is written. Any other link is replaced by its label, an
image by its alternative text, an address by "(link removed)" or, if the book's text has it too, by
code. HTML is escaped, link definitions are removed. Code and all other text stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.generated_text import link_syntax as syntax
from app.domain.generated_text.invisible_characters import Replacements, VisibleText
from app.domain.generated_text.markdown_lines import Lines
from app.domain.generated_text.prose_links import Addresses, Line, ProseScan

LONGEST_WAIT = 400
"""Limit on the characters that one construct holds back; the longest allowed address if that is
longer."""


class LinkPolicy:
    """`feed` and `close` return what may be shown; how the text is split into pieces has no
    effect.
    """

    def __init__(self, allowed_urls: Iterable[str], book_text: str = "") -> None:
        """`allowed_urls` may be linked to; addresses of `book_text` may be shown, as code."""
        allowed = frozenset(form for url in allowed_urls for form in syntax.forms(url))
        longest = max(map(len, allowed), default=0)
        self._addresses = Addresses(allowed, book_text, max(LONGEST_WAIT, longest + 16))
        self._visible = VisibleText()
        self._received = 0
        self._text = ""
        self._at = 0
        """`_text[_at:]` is held back; the text before it is the context of its parsing."""
        self._origin = 0
        """Offset of `_text` in the visible text."""
        self._replacements = Replacements()
        self._shown: list[str] = []
        self._lines = Lines()
        self._line: Line | None = None
        """Scan of the current line of prose."""
        self._in_code = False
        self._in_address = False

    def feed(self, text: str) -> str:
        """Return what may be shown now."""
        self._received += len(text)
        self._text += self._visible.feed(text)
        return self._show(final=False)

    def close(self) -> str:
        """Return what was held back until the end."""
        self._visible.close()
        return self._show(final=True)

    def shown_at(self, offset: int) -> int | None:
        """Map an offset of the fed text to the shown text; None while it is undecided."""
        if offset > self._received:
            return None
        place = self._visible.at(offset)
        return self._replacements.at(place) if place <= self._origin + self._at else None

    def _show(self, final: bool) -> str:
        self._shown = []
        while self._at < len(self._text) and self._step(final):
            pass
        shown_before = max(0, self._at - 1)
        self._text = self._text[shown_before:]
        self._origin += shown_before
        self._at -= shown_before
        return "".join(self._shown)

    def _step(self, final: bool) -> bool:
        """Continue the scan; False if more text is needed."""
        if self._in_address:
            return self._rest_of_address()
        if self._in_code:
            return self._code()
        return self._prose(self._line, final) if self._line else self._line_start(final)

    def _line_start(self, final: bool) -> bool:
        at, limit = self._at, self._addresses.limit
        end = self._text.find("\n", at, at + limit) + 1
        line = self._text[at : end or at + limit]
        whole = bool(end) or (final and len(line) < limit)
        start = self._lines.begin(line, whole)
        if start is None:
            if len(line) < limit:
                return False
            start = self._lines.escape(line)
        self._pass(at + start.at)
        if start.put or start.cut:
            self._replace(at + start.at + start.cut, start.put)
        if start.again:
            return True
        self._in_code = start.code
        if not start.code:
            self._line = Line()
        return True

    def _code(self) -> bool:
        end = self._text.find("\n", self._at) + 1
        self._pass(end or len(self._text))
        self._in_code = not end
        return bool(end)

    def _rest_of_address(self) -> bool:
        rest = syntax.BODY.match(self._text, self._at)
        end = rest.end() if rest else self._at
        self._replace(end, "")
        self._in_address = end == len(self._text)
        return not self._in_address

    def _prose(self, line: Line, final: bool) -> bool:
        if not (line.empty or syntax.SPECIAL.search(self._text, self._at)):
            self._pass(len(self._text))  # a shortcut for most of an answer, twice as fast
            return False
        scan = ProseScan(self._text, self._at, line, self._addresses, final)
        for start, end, put in scan.run():
            self._pass(start)
            self._replace(end, put)
        self._pass(scan.decided)
        self._in_address = scan.in_address
        self._line = None if scan.line_ended else scan.line
        return scan.line_ended or scan.in_address

    def _pass(self, end: int) -> None:
        self._shown.append(self._text[self._at : end])
        self._at = end

    def _replace(self, end: int, put: str) -> None:
        self._replacements.add(self._origin + self._at, self._origin + end, len(put))
        self._shown.append(put)
        self._at = end
