"""Finds links, images and HTML in one line of Markdown prose, and decides what replaces them.

Where the text on both sides could form new mark-up, a replacement contains a space or parentheses.
Every construct ends with the line: backticks without a closing run are not code, and an open tag is
escaped. Code with a `|` may be two cells of a table, so its content is made safe as text too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.domain.generated_text import link_syntax as syntax

REMOVED_LINK, REMOVED_IMAGE = "(link removed)", "(image removed)"
_MARKS = 4
"""Limit on the punctuation marks split off the end of an address."""
_RUN = re.compile(r"`+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ADDRESS_MARKS = frozenset(":/.\\&#?@%<")

Replacement: TypeAlias = tuple[int, int, str]
"""[start, end) of the text, and its replacement."""


@dataclass(frozen=True, slots=True)
class Addresses:
    allowed: Collection[str]
    """Addresses that may be linked to."""
    book_text: str
    """Addresses in this text may be shown as code."""
    limit: int
    """Maximum number of characters held back; a longer construct is decided from these."""

    def allow(self, written: str) -> bool:
        return syntax.decoded(written) in self.allowed


@dataclass(frozen=True, slots=True)
class Line:
    """State of a line of prose at the point where the scan continues."""

    empty: bool = True
    """Only what may precede the content of a line has been read."""
    cells: bool = False
    """A code span of the line has a `|`: in a table row the cells end there."""
    angle: bool = False
    """The line has a `<` that could start a tag if the brackets of a later link were removed."""


@dataclass(frozen=True, slots=True)
class _Opener:
    start: int
    label: int
    image: bool
    line: Line
    """State before the bracket."""


class ProseScan:
    """Scans from `at` to the end of the line, or to where more text is needed."""

    def __init__(self, text: str, at: int, line: Line, addresses: Addresses, final: bool) -> None:
        self.line = line
        self.decided = at
        self.line_ended = False
        self.in_address = False
        """The scan ended inside an address; the rest of it is removed as well."""
        self._text = text
        self._at = at
        self._addresses = addresses
        line_end = text.find("\n", at)
        self._end = len(text) if line_end < 0 else line_end
        self._whole = final or line_end >= 0
        self._openers: list[_Opener] = []
        self._found: list[Replacement] = []

    def run(self) -> list[Replacement]:
        """Return the replacements before `decided`, in order."""
        self._scan()
        self.decided = self._at
        if self._openers and not (self._whole or self.in_address):
            self.decided, self.line = self._openers[0].start, self._openers[0].line
        return sorted(one for one in self._found if one[1] <= self.decided)

    def _scan(self) -> None:
        while not (self.line_ended or self.in_address):
            found = syntax.SPECIAL.search(self._text, self._at)
            here = found.start() if found else len(self._text)
            self._pass(here)
            if self._openers and here - self._openers[0].start > self._addresses.limit:
                self._openers.clear()
            if not found:
                return
            end = self._read(found)
            if end is None:
                return
            if self.line.empty:
                self.line = replace(self.line, empty=False)
            self._at = end

    def _pass(self, end: int) -> None:
        if self.line.empty and end > self._at:
            prefix = syntax.CONTENT_PREFIX.fullmatch(self._text, self._at, end)
            self.line = replace(self.line, empty=prefix is not None)
        self._at = end

    def _read(self, found: re.Match[str]) -> int | None:
        """Return where to continue after the character at `_at`; None if more text is needed."""
        character = self._text[self._at]
        if character in _CONSTRUCTS:
            return _CONSTRUCTS[character](self)
        address = syntax.ADDRESS.match(self._text, self._at, self._window)
        if address:
            return self._address(address.end())
        if not self._complete and syntax.MAYBE_ADDRESS.fullmatch(self._text, self._at):
            return None
        if character == "&":
            return self._reference()
        escaped = character == "\\" and self._text[self._at + 1 : self._at + 2] in _PUNCTUATION
        return self._at + 2 if escaped else max(found.end(), self._at + 1)

    def _end_line(self) -> int:
        self._openers.clear()
        self.line_ended = True
        return self._at + 1

    @property
    def _window(self) -> int:
        """End of the text that decides on the character at `_at`."""
        return min(self._end, self._at + self._addresses.limit)

    @property
    def _complete(self) -> bool:
        """Whether to decide without waiting for more text."""
        return self._whole or self._end - self._at >= self._addresses.limit

    @property
    def _to_line_end(self) -> bool:
        """Whether the window ends at the end of the line."""
        return self._whole and self._end - self._at < self._addresses.limit

    def _put(self, start: int, end: int, text: str) -> int:
        self._found.append((start, end, text))
        return end

    def _put_whole(self, opener: _Opener, end: int, text: str) -> int:
        """Replace all from the opening bracket, so the replacements inside are dropped."""
        self._found = [one for one in self._found if one[0] < opener.start]
        return self._put(opener.start, end, text)

    def _spaced_after(self, end: int, text: str) -> str:
        """Return the text, with a space before it if a `]` would make it a link target."""
        return f" {text}" if self._text[end - 1 : end] == "]" else text

    def _code_span(self) -> int | None:
        run = _RUN.match(self._text, self._at)
        begin = run.end() if run else self._at
        for closing in _RUN.finditer(self._text, begin, self._window):
            if closing.end() == self._window and not self._to_line_end:
                break  # it may be longer
            if closing.end() - closing.start() == begin - self._at:
                return self._code(begin, closing.start(), closing.end())
        if not self._complete:
            return None
        return self._put(self._at, begin, "\\`" * (begin - self._at))

    def _code(self, begin: int, end: int, after: int) -> int:
        code = self._text[begin:end]
        if "|" in code:
            self.line = replace(self.line, cells=True)
        if self.line.cells and syntax.spread(code) != code:
            self._put(begin, end, syntax.spread(code))
        return after

    def _open(self) -> int | None:
        image = self._text[self._at] == "!"
        label = self._at + 1 + image
        if image and label > self._end:
            return self._at + 1 if self._complete else None
        self._openers.append(_Opener(self._at, label, image, self.line))
        return label

    def _close(self) -> int | None:
        after = self._at + 1
        if after == self._end and not self._complete:
            return None
        opener = self._openers[-1] if self._openers else None
        end: int | None = after
        following = self._text[after : after + 1]
        if following == "(":
            end = self._link(opener, after)
        elif following == ":" and (opener is None or opener.line.empty):
            end = self._definition(opener, after)
        if end is not None and opener:
            self._openers.pop()
        return end

    def _link(self, opener: _Opener | None, after: int) -> int | None:
        tail = syntax.LINK_TAIL.match(self._text, after, self._window)
        if not tail:
            never = syntax.NO_LINK_TAIL.match(self._text, after, self._window)
            if not never and not self._complete:
                return None
            return self._put(after, after, " ")
        written, end = tail[1], tail.end()
        address = written[1:-1] if written.startswith("<") else written
        plain = not re.search(r"[`|]", tail[0])
        if opener and not opener.image and plain and self._addresses.allow(address):
            return end
        if address and _ADDRESS_MARKS.isdisjoint(written):
            return self._put(after, after, " ")  # f[x](t) of a formula, rather than a link
        if not opener:
            return self._put(after, end, f" {REMOVED_LINK}")
        return self._unlinked(opener, end)

    def _unlinked(self, opener: _Opener, end: int) -> int | None:
        label = self._text[opener.label : self._at]
        if not label.strip():
            removed = REMOVED_IMAGE if opener.image else REMOVED_LINK
            return self._put_whole(opener, end, self._spaced_after(opener.start, removed))
        following = self._text[end : min(end + 2, self._window)]
        known = len(following) == 2 or self._to_line_end
        if not known and not self._complete:
            return None
        if known and self._reads_alone(opener, following):
            self._put(opener.start, opener.label, "")
            return self._put(self._at, end, "")
        self._put(opener.start, opener.label, self._spaced_after(opener.start, "("))
        return self._put(self._at, end, " )" if "://" in label else ")")

    def _reads_alone(self, opener: _Opener, following: str) -> bool:
        """Whether the label needs no parentheses: its words are apart from the text around it."""
        before = self._text[max(0, opener.start - 1) : opener.start]
        words = self._text[opener.label].isalnum() and self._text[self._at - 1].isalnum()
        apart = not before.strip() and _ends_a_word(following)
        return words and apart and not self.line.angle

    def _definition(self, opener: _Opener | None, after: int) -> int | None:
        text, end = self._text, self._window
        never = syntax.NO_DEFINITION.match(text, after + 1, end)
        if not never and not self._complete:
            return None
        if opener and never:
            return after
        if opener and self._to_line_end and syntax.DEFINITION.fullmatch(text, after + 1, end):
            return self._put_whole(opener, end, "")
        return self._put(after, after, "\\")

    def _angle(self) -> int | None:
        text, at, end = self._text, self._at, self._window
        after = text[at + 1 : min(at + 3, end)]
        if after in {"", "/"}:
            return at + 1 if self._complete else None
        if after[0] in "!?" or (after[0] == "/" and after[1].isalpha()):
            return self._put(at, at, "\\") + 1
        autolink = syntax.AUTOLINK.match(text, at, end)
        if autolink:
            return self._autolink(autolink.end())
        return self._tag(after[0])

    def _tag(self, first: str) -> int | None:
        """Escape a tag, or what a renderer could take for one; `first` follows the bracket."""
        at = self._at
        tag = syntax.TAG.match(self._text, at, self._window)
        maybe = not tag and self._maybe_angle()
        if maybe and not self._complete:
            return None
        letter = first.isascii() and first.isalpha()
        if tag or (letter and (maybe or self.line.empty)):
            return self._put(at, at, "\\") + 1
        self.line = replace(self.line, angle=self.line.angle or letter)
        return at + 1

    def _maybe_angle(self) -> bool:
        text, at, end = self._text, self._at, self._window
        return bool(
            syntax.MAYBE_TAG.fullmatch(text, at, end)
            or syntax.MAYBE_AUTOLINK.fullmatch(text, at, end)
        )

    def _autolink(self, end: int) -> int:
        address = self._text[self._at + 1 : end - 1]
        if self._addresses.allow(address) and address in self._addresses.allowed:
            return end
        if syntax.ADDRESS.match(address) or "@" in address:
            return self._put(self._at, end, self._instead(address, end))
        return self._put(self._at, self._at, "\\") + 1  # vector<std::string>

    def _instead(self, address: str, end: int) -> str:
        """Return the replacement of an address."""
        beside = {self._text[max(0, self._at - 1) : self._at], self._text[end : end + 1]}
        mentioned = syntax.mentions(self._addresses.book_text, address)
        if mentioned and "`" not in beside and not self.line.cells:
            return f"`{address}`"
        return self._spaced_after(self._at, REMOVED_LINK)

    def _address(self, head: int) -> int | None:
        token = syntax.TOKEN.match(self._text, self._at, self._window)
        stop = token.end() if token else head
        if stop == self._end and not self._complete:
            return None
        allowed = self._allowed_length(self._text[self._at : stop])
        if allowed:
            return self._at + allowed
        body = syntax.BODY.match(self._text, head, self._window)
        end = body.end() if body else head
        if end == self._window and not self._to_line_end:
            self.in_address = True
            return self._put(self._at, end, self._instead("", end))
        address = self._text[self._at : end]
        trimmed = address.rstrip(".,;:!?_~")
        if len(trimmed) > head - self._at:
            end, address = self._at + len(trimmed), trimmed
        return self._put(self._at, end, self._instead(address, end))

    def _allowed_length(self, token: str) -> int:
        """Return the length of the allowed address at the token's start; 0 if there is none.

        Only a few punctuation marks may follow it.
        """
        for length in range(len(token), max(0, len(token) - _MARKS), -1):
            if syntax.AFTER.fullmatch(token, length) and self._addresses.allow(token[:length]):
                return length
        return 0

    def _reference(self) -> int | None:
        reference = syntax.REFERENCE.match(self._text, self._at, self._window)
        if not reference:
            maybe = syntax.MAYBE_REFERENCE.fullmatch(self._text, self._at, self._window)
            return None if maybe and not self._complete else self._at + 1
        if syntax.hides_an_address(reference[0]):
            self._put(self._at, self._at, "\\")
        return reference.end()


def _ends_a_word(following: str) -> bool:
    """Whether a space, or a punctuation mark and a space, follows; or nothing."""
    mark, after = following[:1], following[1:]
    return not mark.strip() or (mark in ".,;:!?)" and not after.strip())


_CONSTRUCTS: Mapping[str, Callable[[ProseScan], int | None]] = {
    "\n": ProseScan._end_line,
    "`": ProseScan._code_span,
    "!": ProseScan._open,
    "[": ProseScan._open,
    "]": ProseScan._close,
    "<": ProseScan._angle,
}
