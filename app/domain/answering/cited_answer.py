"""Builds a cited answer from a model's text, and decides what of it may be shown.

The text is cut once into units: sentences, lines, fences. Each is verified once, when it is
complete: it is supported if the paragraphs that it cites support it. One without a citation is
attributed to a consulted paragraph if one supports it (`attribution`). A unit is shown when at
least `MIN_SUPPORTED` of the units so far are supported; until then it is held back, and dropped if
the share never recovers. Text that was shown is never retracted.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.answer import Citation, Statement
from app.domain.answering.attribution import Attributor
from app.domain.answering.verification import CitationList, Quote, Verifier
from app.domain.document import Span
from app.domain.generated_text.citation_markers import Marked, without_markers
from app.domain.generated_text.fences import LINE_MARK
from app.domain.generated_text.link_policy import LinkPolicy
from app.domain.generated_text.prompt_guard import PromptGuard
from app.domain.generated_text.splitter import UNIT_CHARS, Splitter, Unit
from app.domain.invisible_characters import without_invisible
from app.domain.terms import words

_LONGEST_CLAIM = 2 * UNIT_CHARS
"""Limit on the characters of a citation of several sentences."""
MIN_SUPPORTED = 1 / 3
"""Minimum share of supported sentences among those shown of a model's answer."""
_NO_CLAIM = re.compile(
    r"(?<!\w)[*_~`]+|[*_~`]+(?!\w)"
    r"|(?:(?<!\w)|(?<=[^\W\d_]{3}))\\?[\[(\u3010]\d{1,2}\\?[\])\u3011]"
)
"""Emphasis, and numbers in brackets that may be markers: no part of what a text claims."""


@dataclass(slots=True)
class _Shown:
    """A unit of the answer; its statement `start:end` is without list marks and blanks."""

    until: int
    """End of the unit in the generator's text."""
    start: int
    end: int
    shift: int | None
    """From offsets of the generator's text to the answer's; None if the unit was changed."""
    cited: set[str] = field(default_factory=set)
    """Ids of the paragraphs whose citation was verified."""
    supported: bool = False


class CitedAnswerBuilder:
    """Returns text and citations as soon as they may be shown.

    Spans passed in are offsets of the generator's text. Spans returned are offsets of `text`, in
    which links to other pages than the consulted passages are removed. `text` ends where the
    generator recites a prompt of the program.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        passages = [piece.passage for one in verifier.paragraphs.values() for piece in one]
        self._links = LinkPolicy(
            (one.url for one in passages), "\n".join(one.text for one in passages)
        )
        self._splitter = Splitter(verifier.split_sentences, verifier.language)
        self._guard = PromptGuard()
        self._list = CitationList(verifier.paragraphs)
        self._attributor = Attributor(verifier)
        self._numbered: Sequence[str] = ()
        self._waiting: list[tuple[Span, Sequence[str]]] = []
        """Citations of text that is not complete yet."""
        self._quoted: list[Statement] = []
        self._claimed = self._verified = 0
        self._units: list[_Shown] = []
        self._statements: list[_Shown] = []
        self._supporting = 0
        """Number of `_statements` that are supported."""
        self._withheld: list[Citation] = []  # their text is held back
        self._may_show = self._shown = 0
        self.unsupported = False
        """Whether text was dropped at the end because too little of it is supported."""
        self.text = ""
        """The answer; before `close` it includes the text that is held back."""

    def write(self, text: str, *, numbered: Sequence[str] = ()) -> tuple[str, list[Citation]]:
        """Add text; return the text and citations that can be shown now.

        `numbered`: ids of the paragraphs that the markers [1], [2], ... in the text cite. Without
        it, markers are text, and citations come by `cite` until the end.
        """
        self._numbered = numbered
        units = self._splitter.feed(text)
        self._add([unit for one in units for unit in self._guard.take(one)])
        return self._show()

    def cite(self, span: Span, paragraph_ids: Sequence[str]) -> tuple[str, list[Citation]]:
        """Record the generator's citation of these paragraphs for `text[start:end]`.

        Returns the same as `write`.
        """
        self._claimed += len(paragraph_ids)
        if 0 <= span[0] < span[1]:
            self._place(span, paragraph_ids)
            self._judge()
        return self._show()

    def quote(self, before: str, shown: str, quote: Quote) -> tuple[str, list[Citation]]:
        """Add a verbatim quotation; returns the same as `write`.

        `shown` is the quotation with mark-up, such as the rule of a table. `before` is the mark-up
        or the text of the book before it. Link policy and prompt guard do not apply
        to the book's own words.
        """
        if shown != quote.text and words(shown) != words(quote.text):
            return "", []
        self.text += before
        span = (len(self.text), len(self.text) + len(shown))
        self.text += shown
        self._quoted.append(Statement(*span, supported=True))
        citation = self._list.add(span, quote)
        return before + shown, [citation] if citation else []

    def end_quotes(self, after: str) -> str:
        """Add the text after the last quotation, such as the end of a code fence."""
        self.text += after
        return after

    def close(self) -> tuple[str, list[Citation]]:
        """Return the rest of the text that can be shown; drop citations outside the text."""
        if self._quoted:
            return "", []
        units = [unit for one in self._splitter.close() for unit in self._guard.take(one)]
        self._add([*units, *self._guard.close()])
        if not self._numbered:
            for one in self._statements:
                self._attribute(one)
        self._judge_prefixes()
        out = self._show()
        self.unsupported = bool(self.text[self._shown :].strip())
        self.text = self.text[: self._shown]
        return out

    @property
    def recited(self) -> bool:
        """Whether the rest was withheld because it recited a prompt of the program."""
        return self._guard.recited

    @property
    def truncated(self) -> bool:
        """Whether the rest was dropped because the generator wrote too much."""
        return self._splitter.truncated

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the text shown, by position."""
        return tuple(one for one in self._list.citations if one.end <= self._shown or self._quoted)

    @property
    def precision(self) -> float:
        """Share of the generator's citations that were verified; 1 if there are none."""
        return self._verified / self._claimed if self._claimed else 1.0

    def statements(self) -> tuple[Statement, ...]:
        """Return the quotations, else the sentences with content, and whether each is supported."""
        if self._quoted:
            return tuple(self._quoted)
        shown = (one for one in self._statements if one.end <= len(self.text))
        return tuple(Statement(one.start, one.end, one.supported) for one in shown)

    def _show(self) -> tuple[str, list[Citation]]:
        """Return what is new of the text of which enough is supported."""
        shown, self._shown = self.text[self._shown : self._may_show], self._may_show
        seen = [one for one in self._withheld if one.end <= self._shown]
        self._withheld = [one for one in self._withheld if one.end > self._shown]
        return shown, seen

    def _judge(self) -> None:
        """Allow all text so far if enough of it is supported."""
        if self._supporting >= MIN_SUPPORTED * len(self._statements) > 0:
            self._may_show = len(self.text)

    def _judge_prefixes(self) -> None:
        """Allow the longest part of which enough is supported by citations that came late."""
        supporting = 0
        for count, one in enumerate(self._statements, 1):
            supporting += one.supported
            if supporting >= MIN_SUPPORTED * count:
                self._may_show = max(self._may_show, one.end)
        if self._supporting >= MIN_SUPPORTED * len(self._statements):
            self._may_show = len(self.text)

    def _add(self, units: Sequence[Unit]) -> None:
        """Add units to the text, and verify them and the citations that waited for them."""
        for unit in units:
            one, claims = self._edited(unit)
            self._units.append(one)
            states = bool(self._verifier.terms(self._said(one.start, one.end)))
            self._statements += [one] * states
            for claim, paragraph_ids in claims:
                self._claimed += len(paragraph_ids)
                self._cite(claim, paragraph_ids)
            if states:
                self._support(one)
                if self._numbered:
                    self._attribute(one)
            self._judge()
        if units:
            waiting, self._waiting = self._waiting, []
            for span, paragraph_ids in waiting:
                self._place(span, paragraph_ids)
                self._judge()

    def _edited(self, unit: Unit) -> tuple[_Shown, list[tuple[Span, Sequence[str]]]]:
        """Write the unit; return it, and the claims of its markers with what they cite."""
        written, marked = without_invisible(unit.text), list[Marked]()
        if not unit.fence:
            written, marked = without_markers(written, len(self._numbered))
        shown = self._links.shown(written, fence=unit.fence)
        mark = LINE_MARK.match(shown) if unit.begins_line else None
        begin = mark.end() if mark else len(shown) - len(shown.lstrip())
        at = len(self.text)
        self.text += shown
        span = at + begin, at + max(begin, len(shown.rstrip()))
        shift = at - unit.start if shown.startswith(unit.text) else None
        one = _Shown(unit.start + len(unit.text), *span, shift)
        claims: list[tuple[Span, Sequence[str]]] = []
        for found in marked:
            claim = (at + found.start, at + found.end) if shown.startswith(written) else span
            if found.start == found.end and self._statements:
                claim = self._statements[-1].start, self._statements[-1].end
            claims.append((claim, [self._numbered[number - 1] for number in found.numbers]))
        return one, claims

    def _place(self, span: Span, paragraph_ids: Sequence[str]) -> None:
        """Verify the citations of a span of the generator's text, or keep them until it is here."""
        if not self._units or span[1] > self._units[-1].until:
            self._waiting.append((span, paragraph_ids))
            return
        first = self._units[bisect_right(self._units, span[0], key=lambda one: one.until)]
        last = self._units[bisect_left(self._units, span[1], key=lambda one: one.until)]
        start = first.start if first.shift is None else span[0] + first.shift
        end = last.end if last.shift is None else span[1] + last.shift
        self._cite((start, end), paragraph_ids)

    def _cite(self, claim: Span, paragraph_ids: Sequence[str]) -> None:
        """Add citations of `text[start:end]` to the paragraphs that support it."""
        start, end = claim
        first = bisect_right(self._statements, start, key=lambda one: one.end)
        last = bisect_left(self._statements, end, key=lambda one: one.start)
        touched = self._statements[first:last]
        if len(touched) > 1 and end - start > _LONGEST_CLAIM:
            return
        said = self._said(start, end)
        sentence = self._said(touched[-1].start, end) if touched else ""
        for paragraph_id in paragraph_ids:
            quote = self._verifier.verify(said, paragraph_id, sentence)
            self._verified += quote is not None
            if quote and (citation := self._list.add(claim, quote)):
                self._withheld.append(citation)
                for one in touched:
                    one.cited.add(paragraph_id)
        for one in touched:
            self._support(one)

    def _attribute(self, one: _Shown) -> None:
        """Add a citation of the paragraph that supports the statement, if it has none."""
        quote = None if one.cited else self._attributor.attribute(self._said(one.start, one.end))
        if quote and (citation := self._list.add((one.start, one.end), quote)):
            self._withheld.append(citation)
            one.cited.add(citation.paragraph_id)
            self._support(one)

    def _support(self, one: _Shown) -> None:
        """Judge the statement by its citations or, if it has none, by whether it could have one."""
        said, before = self._said(one.start, one.end), one.supported
        if one.cited:
            one.supported = self._verifier.supports(said, sorted(one.cited))
        else:
            one.supported = self._attributor.attribute(said) is not None
        self._supporting += one.supported - before

    def _said(self, start: int, end: int) -> str:
        return _NO_CLAIM.sub("", self.text[start:end])


def coverage(statements: Sequence[Statement]) -> float:
    """Share of the statements that are supported; 1 if there are none."""
    if not statements:
        return 1.0
    return sum(one.supported for one in statements) / len(statements)
