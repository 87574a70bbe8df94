"""Cuts a model's stream once into units: complete sentences, lines, and fences of code."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.domain.document import Span
from app.domain.generated_text.markup import MARKER, MAYBE_MARKER, closes, fence_run
from app.domain.terms import CLOSING, STOPS, WIDE_STOPS

UNIT_CHARS = 1_000
"""A longer sentence is cut at a blank."""

_END = re.compile(
    rf"(?:[{STOPS}]++[{CLOSING}]*+(?P<marked>(?:[ ]*{MARKER})*+)[ \t]++"
    rf"|[{WIDE_STOPS}]++[{CLOSING}]*+(?:[ ]*{MARKER})*+[ \t]*+)(?=\S)",
    re.IGNORECASE,
)
_LONGEST_END = 200
"""Characters from the end of a sentence to the next one, at most."""
_MAY_OPEN_FENCE = re.compile(r"[ \t\r>*+\-0-9.)]*(?:`{1,2}|~{1,2})?(?:\Z|```|~~~)")
_CONTEXT = 80
"""Characters before the end of a sentence by which abbreviations are recognised."""


@dataclass(frozen=True, slots=True)
class TextUnit:
    start: int
    """Offset in the model's text."""
    text: str
    """Includes the blanks and the line break after it."""
    fence: bool


class Splitter:
    """Where the stream is cut has no effect on the units."""

    def __init__(
        self, split_sentences: Callable[[str, str], Sequence[Span]], language: str
    ) -> None:
        self._split_sentences = split_sentences
        self._language = language
        self._pending = ""
        self._start = 0
        self._scanned = 0
        """No unit ends in `_pending` before here."""
        self._begins_line = True
        self._fence = ""

    def feed(self, text: str, *, final: bool = False) -> list[TextUnit]:
        """Return the units that the text completes; all that is left if it is the `final` one."""
        self._pending += text
        return [*self._units(final=final)]

    def _units(self, *, final: bool) -> Iterator[TextUnit]:
        while self._pending and (end := self._end(final=final)):
            text, self._pending = self._pending[:end], self._pending[end:]
            yield TextUnit(self._start, text, bool(self._fence))
            self._start += end
            self._scanned = 0
            self._begins_line = text.endswith("\n")
            self._fence = ""

    def _end(self, *, final: bool) -> int:
        """Return the end of the first unit of the pending text; 0 if it is not complete."""
        text = self._pending
        if self._begins_line and not self._scanned and _MAY_OPEN_FENCE.match(text):
            line = text.find("\n", 0, UNIT_CHARS) + 1 or len(text)
            if line == len(text) <= UNIT_CHARS and not (final or text.endswith("\n")):
                return 0
            self._fence = fence_run(text[:line]) if line <= UNIT_CHARS else ""
            self._scanned = line if self._fence else 0
        return self._fence_end(final=final) if self._fence else self._sentence_end(final=final)

    def _fence_end(self, *, final: bool) -> int:
        text = self._pending
        quoted = ">" in text[: text.find(self._fence)]
        whole = len(text) if final else text.rfind("\n") + 1
        while self._scanned < whole:
            line_end = text.find("\n", self._scanned) + 1 or len(text)
            line = text[self._scanned : line_end]
            if quoted and not line.lstrip(" \t").startswith(">"):
                return self._scanned
            if closes(self._fence, line):
                return line_end
            self._scanned = line_end
        return whole if final else 0

    def _sentence_end(self, *, final: bool) -> int:
        text = self._pending
        line = text.find("\n", 0, UNIT_CHARS) + 1
        whole = final or line or len(text) > UNIT_CHARS
        for found in _END.finditer(text, self._scanned, min(line or UNIT_CHARS, len(text))):
            if MAYBE_MARKER.fullmatch(text, found.end()) and not whole:
                return 0
            if self._is_sentence(found):
                return found.end()
            self._scanned = found.end()
        self._scanned = max(self._scanned, len(text) - _LONGEST_END)
        if line or len(text) > UNIT_CHARS:
            return line or text.rfind(" ", 1, UNIT_CHARS) + 1 or UNIT_CHARS
        return len(text) if final else 0

    def _is_sentence(self, found: re.Match[str]) -> bool:
        """Whether a sentence ends here, outside brackets, code and tables."""
        text, at = found.string, found.start()
        if text.count("`", 0, at) % 2 or "|" in text[:at]:
            return False
        if any(text.count(one, 0, at) > text.count(end, 0, at) for one, end in ("[]", "()")):
            return False
        end = found.start("marked") if found["marked"] is not None else found.end()
        # One character of the next sentence decides, however the stream is cut.
        following = text[found.end()] + ("xx" if text[found.end()].isalpha() else "Xx")
        said = f"{text[max(0, at - _CONTEXT) : end].rstrip()} {following}"
        sentences = self._split_sentences(said, self._language)
        return sentences[-1][0] == len(said) - len(following)
