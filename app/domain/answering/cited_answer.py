"""Builds a cited answer from a stream of text and cited spans, and decides what may be shown.

A sentence without a citation is attributed to a consulted paragraph if one supports it
(`attribution`). At any time at least `MIN_SUPPORTED` of the sentences shown are supported. A
sentence is shown while it is being written once a paragraph supports its first few words. Text
that would lower the share below `MIN_SUPPORTED` is held back, and dropped if the share never
recovers. Text that was shown is never retracted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.domain.answer import Citation, Statement
from app.domain.answering.attribution import Attributor
from app.domain.answering.verification import CitationList, Quote, Verifier
from app.domain.document import Span
from app.domain.generated_text.link_policy import LinkPolicy
from app.domain.generated_text.prompt_guard import PromptGuard
from app.domain.terms import words

_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_LINE = re.compile(r"[^\n]+")
_MAY_END = re.compile(r"[\n.!?\u2026\u0964\u3002\uff01\uff1f]")
"""Characters that may end a sentence."""
_LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+>\u2022]|#{1,6}|\d{1,3}[.)])[ \t]+)*")


MIN_SUPPORTED = 1 / 3
"""Minimum share of supported sentences among those shown of a model's answer."""


class CitedAnswerBuilder:
    """Returns a citation as soon as its claim is verified and the text it covers is shown.

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
        self._guard = PromptGuard()
        self._list = CitationList(verifier.paragraphs)
        self._pending: list[tuple[Span, str]] = []
        self._quoted: list[Statement] = []
        self._claimed = 0
        self._verified = 0
        self._in_place = False
        self._attributor = Attributor(verifier)
        self._complete: list[Span] = []
        self._attributed = 0  # sentences of `_complete` for which attribution was tried
        self._supporting = 0  # sentences of `_complete` that are supported
        self._supported_end = 0  # end of the last sentence up to which enough are supported
        self._withheld: list[Citation] = []  # their text is held back
        self._shown = 0
        self.unsupported = False
        """Whether text was dropped at the end because too little of it is supported."""
        self.text = ""
        """The answer; before `close` it includes the text that is held back."""

    def write(self, text: str, *, in_place: bool = False) -> tuple[str, list[Citation]]:
        """Add text; return the text and citations that can be shown now.

        `in_place`: the generator cites each sentence before it begins the next one.
        """
        self._in_place = in_place
        return self._take(self._links.feed(self._guard.feed(text)))

    def cite(self, span: Span, paragraph_ids: Sequence[str]) -> tuple[str, list[Citation]]:
        """Record the generator's citation of these paragraphs for `text[start:end]`.

        Returns the same as `write`.
        """
        self._pending += [(span, paragraph_id) for paragraph_id in paragraph_ids]
        self._claimed += len(paragraph_ids)
        return self._take("")

    def quote(self, before: str, shown: str, quote: Quote) -> tuple[str, list[Citation]]:
        """Add a verbatim quotation; returns the same as `write`.

        `shown` is the quotation with mark-up, such as the rule of a table. `before` is the mark-up
        before it: a blank, a list marker, a code fence. Link policy and prompt guard do not apply
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
        rest = self._links.feed(self._guard.close())
        out = self._take(rest + self._links.close(), closing=True)
        if not self._quoted:
            self.unsupported = bool(self.text[self._shown :].strip())
            self.text = self.text[: self._shown]
        return out

    def _take(self, new: str, *, closing: bool = False) -> tuple[str, list[Citation]]:
        self.text += new
        cited = self._verify()
        self._withheld += cited
        if self._quoted:
            return "", []
        done = self._complete[-1][1] if self._complete else 0
        if closing or cited or _MAY_END.search(self.text, done):
            self._judge(closing=closing)
        return self._show(
            len(self.text) if self._may_show_all(closing) else max(self._shown, self._supported_end)
        )

    def _may_show_all(self, closing: bool) -> bool:
        """Whether all text so far can be shown, including a sentence that is not complete."""
        complete = len(self._complete)
        if closing:
            return self._supporting >= MIN_SUPPORTED * complete
        needed = MIN_SUPPORTED * (complete + 1)
        if self._supporting >= needed or self._supporting + 1 < needed:
            return self._supporting >= needed
        done = self._complete[-1][1] if self._complete else 0
        if self.text[done : self._shown].strip():
            return True
        last_word = self.text.rfind(" ", done)  # it may be incomplete
        return last_word > done and self._will_be_supported(done, last_word)

    def _show(self, end: int) -> tuple[str, list[Citation]]:
        shown, self._shown = self.text[self._shown : end], end
        seen = [one for one in self._withheld if one.end <= end]
        self._withheld = [one for one in self._withheld if one.end > end]
        return shown, seen

    def _complete_sentences(self, *, closing: bool) -> list[Span]:
        """Return the sentences followed by text or a line break; the last one may still grow."""
        found = [*self._sentences()]
        rest = self.text[found[-1][1] :] if found else ""
        return found if closing or rest.strip() or "\n" in rest else found[:-1]

    def _judge(self, *, closing: bool) -> None:
        """Attribute the complete sentences, and find the end of the text that can be shown.

        Without citations in place, all sentences are attributed at the end. With them, the last
        complete sentence waits, since its citation may follow its full stop.
        """
        self._complete = self._complete_sentences(closing=closing)
        settled = len(self._complete) - (not closing)
        if closing or self._in_place:
            self._attribute(self._complete[self._attributed : settled])
            self._attributed = max(self._attributed, settled)
        self._supporting = self._supported_end = 0
        for count, (start, end) in enumerate(self._complete, 1):
            self._supporting += self._will_be_supported(start, end)
            if self._supporting >= MIN_SUPPORTED * count or start < self._shown < end:
                self._supported_end = end

    def _attribute(self, sentences: Sequence[Span]) -> None:
        for start, end in sentences:
            if self._cited(start, end):
                continue
            quote = self._attributor.attribute(self.text[start:end])
            if quote and (citation := self._list.add((start, end), quote)):
                self._withheld.append(citation)

    def _will_be_supported(self, start: int, end: int) -> bool:
        if self._cited(start, end):
            return self._supported(start, end)
        return self._attributor.attribute(self.text[start:end]) is not None

    @property
    def recited(self) -> bool:
        """Whether the rest was withheld because it recited a prompt of the program."""
        return self._guard.recited

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of the text shown, by position."""
        return tuple(one for one in self._list.citations if one not in self._withheld)

    @property
    def precision(self) -> float:
        """Share of the generator's citations that were verified; 1 if there are none."""
        return self._verified / self._claimed if self._claimed else 1.0

    def _verify(self) -> list[Citation]:
        """Verify the citations whose text is complete; return the new ones, by the shown text."""
        found: list[Citation] = []
        waiting: list[tuple[Span, str]] = []
        for span, paragraph_id in self._pending:
            start, end = (self._links.shown_at(max(0, offset)) for offset in span)
            if start is None or end is None:
                waiting.append((span, paragraph_id))
                continue
            sentence = self._sentence_until(end)
            quote = self._verifier.verify(self.text[start:end], paragraph_id, sentence)
            if quote is None:
                continue
            self._verified += 1
            if citation := self._list.add((start, end), quote):
                found.append(citation)
        self._pending = waiting
        return found

    def _sentence_until(self, end: int) -> str:
        """Return the sentence that contains `end`, up to there."""
        begin = max(self.text.rfind(mark, 0, end) for mark in (". ", "? ", "! ", "\n"))
        return self.text[begin + 1 : end]

    def statements(self) -> tuple[Statement, ...]:
        """Return the quotations, else the sentences with content, and whether each is supported."""
        if self._quoted:
            return tuple(self._quoted)
        return tuple(
            Statement(start, end, self._supported(start, end)) for start, end in self._sentences()
        )

    def _sentences(self) -> Iterator[Span]:
        at = 0
        for fence in _FENCED.finditer(self.text):
            yield from self._prose(at, fence.start())
            yield fence.span()
            at = fence.end()
        yield from self._prose(at, len(self.text))

    def _prose(self, start: int, end: int) -> Iterator[Span]:
        verifier = self._verifier
        for line in _LINE.finditer(self.text, start, end):
            mark = _LINE_MARK.match(self.text, line.start(), line.end())
            begin = mark.end() if mark else line.start()
            text = self.text[begin : line.end()]
            for first, last in verifier.split_sentences(text, verifier.language):
                if verifier.terms(text[first:last]):
                    yield begin + first, begin + last

    def _cited(self, start: int, end: int) -> list[Citation]:
        """Return the citations that overlap `start:end`."""
        return [one for one in self._list.citations if one.start < end and start < one.end]

    def _supported(self, start: int, end: int) -> bool:
        ids = {one.paragraph_id for one in self._cited(start, end)}
        pieces = [piece for one in sorted(ids) for piece in self._verifier.paragraphs[one]]
        return bool(pieces) and self._verifier.supports(self.text[start:end], pieces)


def coverage(statements: Sequence[Statement]) -> float:
    """Share of the statements that are supported; 1 if there are none."""
    if not statements:
        return 1.0
    return sum(one.supported for one in statements) / len(statements)
