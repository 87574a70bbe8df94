"""Builds a cited answer from a model's text, and decides what of it may be shown.

The text is cut once into units: sentences, lines, fences. Each is verified once, when it is
complete: it is supported if the paragraphs that it cites support it. One without a citation is
attributed to a consulted paragraph if one supports it. A unit is shown when at
least `MIN_SUPPORTED` of the units so far are supported; until then it is held back, and dropped if
the share never recovers. Text that was shown is never retracted.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.answer import Citation, CitationFound, Statement, TextDelta
from app.domain.answering.citations import CitationList
from app.domain.answering.units import Unit
from app.domain.answering.verification import Verifier
from app.domain.characters import without_invisible
from app.domain.document import Span
from app.domain.generated_text.link_policy import LinkPolicy
from app.domain.generated_text.markup import LINE_MARK, without_markers
from app.domain.generated_text.model_text import GeneratedCitation, GeneratedText, TextDiscarded
from app.domain.generated_text.splitter import Splitter, TextUnit
from app.domain.prompts import recites_prompt

MIN_SUPPORTED = 1 / 3
"""Minimum share of supported sentences among those shown of a model's answer."""
_NO_CLAIM = re.compile(
    r"(?<!\w)[*_~`]+|[*_~`]+(?!\w)"
    r"|(?:(?<!\w)|(?<=[^\W\d_]{3}))\\?[\[(\u3010]\d{1,2}\\?[\])\u3011]"
)
"""Emphasis, and numbers in brackets that may be markers: no part of what a text claims."""


@dataclass(slots=True)
class _Stated:
    """A unit of the answer, without list marks and blanks."""

    start: int
    end: int
    cited: set[str] = field(default_factory=set)
    """Ids of the paragraphs whose citation was verified."""
    attributed: Unit | None = None
    """What supports the statement without a citation."""
    supported: bool = False


class CitedAnswerBuilder:
    """Take the generator's events, then close: the events of the answer that may be shown.

    In `text`, links to other pages than the consulted passages are removed. It ends where the
    generator recites a prompt of the program.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        passages = [piece.passage for one in verifier.paragraphs.values() for piece in one]
        self._links = LinkPolicy("\n".join(one.text for one in passages))
        self._begin()

    def _begin(self) -> None:
        self._splitter = Splitter(self._verifier.split_sentences, self._verifier.language)
        self._list = CitationList(self._verifier.paragraphs)
        self._numbered: Sequence[str] = ()
        self._waiting: list[GeneratedCitation] = []
        """Citations of text that is not complete yet."""
        self._complete = 0
        """End of the last unit in the generator's text."""
        self._statements: list[_Stated] = []
        self._supporting = 0
        """Number of `_statements` that are supported."""
        self._withheld: list[Citation] = []
        """Citations of text that is held back."""
        self._shown = 0
        self.recited = False
        """Whether the rest was withheld because it recites a prompt of the program."""
        self.unsupported = False
        """Whether text was dropped at the end because too little of it is supported."""
        self.text = ""
        """The answer; before `close` it includes the text that is held back."""

    def take(
        self, event: GeneratedText | GeneratedCitation | TextDiscarded
    ) -> list[TextDelta | CitationFound]:
        """Return what can be shown now. Text that was shown is not discarded."""
        if isinstance(event, GeneratedText):
            self._numbered = event.numbered
            return self._add(self._splitter.feed(event.text))
        if isinstance(event, GeneratedCitation):
            self._waiting.append(event)
            return self._add(())
        if not self._shown:
            self._begin()
        return []

    def close(self) -> list[TextDelta | CitationFound]:
        """Return the rest of the text that can be shown; drop citations outside the text."""
        out = self._add(self._splitter.feed("", final=True))
        for one in self._statements:
            self._attribute(one)
        out += self._released()
        self.unsupported = bool(self.text[self._shown :].strip())
        self.text = self.text[: self._shown]
        return out

    @property
    def empty(self) -> bool:
        """Whether the generator wrote nothing."""
        return not (self._complete or self.recited)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the text shown, by position."""
        return tuple(one for one in self._list.citations if one.end <= self._shown)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The sentences with content, and whether each is supported."""
        shown = (one for one in self._statements if one.end <= len(self.text))
        return tuple(Statement(one.start, one.end, one.supported) for one in shown)

    def _released(self) -> list[TextDelta | CitationFound]:
        """Return what is new of the text, if enough of all of it is supported."""
        if not self._supporting >= MIN_SUPPORTED * len(self._statements) > 0:
            return []
        new, self._shown = self.text[self._shown :], len(self.text)
        found, self._withheld = self._withheld, []
        return [*([TextDelta(new)] if new else []), *map(CitationFound, found)]

    def _add(self, units: Sequence[TextUnit]) -> list[TextDelta | CitationFound]:
        """Add units to the text, and verify them and the citations that waited for them."""
        out: list[TextDelta | CitationFound] = []
        for unit in units:
            self.recited = self.recited or recites_prompt(unit.text)
            if self.recited:
                break
            one, claims = self._edited(unit)
            self._complete = unit.start + len(unit.text)
            states = bool(self._verifier.terms(self._said(one.start, one.end)))
            self._statements += [one] * states
            for claim, paragraph_ids in claims:
                self._cite(claim, paragraph_ids)
            if states and not one.cited:
                self._support(one)
                if self._numbered:
                    self._attribute(one)
            out += self._released()
        self._place_citations()
        return out + self._released()

    def _edited(self, unit: TextUnit) -> tuple[_Stated, list[tuple[Span, Sequence[str]]]]:
        """Write the unit; return it, and the claims of its markers with what they cite."""
        sources = 0 if unit.fence else len(self._numbered)
        written, marked = without_markers(without_invisible(unit.text), sources)
        shown = self._links.shown(written, fence=unit.fence)
        begin = len(shown) - len(LINE_MARK.sub("", shown, count=1).lstrip())
        at = len(self.text)
        self.text += shown
        one = _Stated(at + begin, at + max(begin, len(shown.rstrip())))
        claims: list[tuple[Span, Sequence[str]]] = []
        for (start, end), numbers in marked:
            unchanged = shown.startswith(written)
            claim = (at + start, at + end) if unchanged else (one.start, one.end)
            if start == end and self._statements:
                claim = self._statements[-1].start, self._statements[-1].end
            claims.append((claim, [self._numbered[number - 1] for number in numbers]))
        return one, claims

    def _place_citations(self) -> None:
        """Verify the citations whose text is complete."""
        waiting, self._waiting = self._waiting, []
        longer = len(self.text) - self._complete  # than the generator's text, by what was replaced
        for one in waiting:
            if one.start + len(one.words) > self._complete:
                self._waiting.append(one)
            elif (start := _nearest(self.text, one.words, one.start + longer)) >= 0:
                self._cite((start, start + len(one.words)), one.paragraph_ids)

    def _cite(self, claim: Span, paragraph_ids: Sequence[str]) -> None:
        """Add citations of `text[start:end]` to the paragraphs that support it."""
        start, end = claim
        first = bisect_right(self._statements, start, key=lambda one: one.end)
        last = bisect_left(self._statements, end, key=lambda one: one.start)
        touched = self._statements[first:last]
        said = self._said(start, end)
        sentence = self._said(touched[-1].start, end) if touched else ""
        for paragraph_id in paragraph_ids:
            quote = self._verifier.verify(said, paragraph_id, sentence)
            if quote and (citation := self._list.add(claim, quote)):
                self._withheld.append(citation)
                for one in touched:
                    one.cited.add(paragraph_id)
        for one in touched:
            self._support(one)

    def _support(self, one: _Stated) -> None:
        """Judge the statement by its citations or, if it has none, by whether it could have one."""
        said, before = self._said(one.start, one.end), one.supported
        if one.cited:
            one.supported = self._verifier.supports(said, sorted(one.cited))
        else:
            one.attributed = self._verifier.attribute(said)
            one.supported = one.attributed is not None
        self._supporting += one.supported - before

    def _attribute(self, one: _Stated) -> None:
        """Add a citation of the paragraph that supports the statement, if it has none."""
        quote = None if one.cited else one.attributed
        if quote and (citation := self._list.add((one.start, one.end), quote)):
            self._withheld.append(citation)

    def _said(self, start: int, end: int) -> str:
        return _NO_CLAIM.sub("", self.text[start:end])


def _nearest(text: str, words: str, at: int) -> int:
    """Return the place of the words that is nearest to `at`; -1 if there is none or no word."""
    if not words:
        return -1
    places = text.rfind(words, 0, at + len(words)), text.find(words, max(at, 0))
    return min((one for one in places if one >= 0), key=lambda one: abs(one - at), default=-1)
