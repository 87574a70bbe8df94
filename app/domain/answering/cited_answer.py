"""An answer while it is being written: text and cited spans come in any order, facts go out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.domain.answer import Citation, Statement
from app.domain.answering.link_policy import LinkPolicy
from app.domain.answering.verification import CitationList, Quote, Verifier
from app.domain.document import Span
from app.domain.prompting import PromptGuard
from app.domain.terms import words

_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_LINE = re.compile(r"[^\n]+")
_LINE_MARK = re.compile(r"[ \t]*(?:(?:[-*+>\u2022]|#{1,6}|\d{1,3}[.)])[ \t]+)*")


class CitedAnswerBuilder:
    """Lets a citation out as soon as the text it covers is shown and its claim is verified.

    Spans that come in count the written text; what goes out counts `text`, the shown one, which
    leads nowhere but to consulted passages, and ends where a prompt of the program is recited.
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
        self.text = ""

    def write(self, text: str) -> tuple[str, list[Citation]]:
        """Take text; return what can be shown now, and the citations that it completes."""
        return self._show(self._links.feed(self._guard.feed(text)))

    def cite(self, span: Span, paragraph_ids: Sequence[str]) -> list[Citation]:
        """Take the writer's word that `text[start:end]` rests on each of these paragraphs."""
        self._pending += [(span, paragraph_id) for paragraph_id in paragraph_ids]
        self._claimed += len(paragraph_ids)
        return self._show("")[1]

    def quote(self, before: str, shown: str, quote: Quote) -> tuple[str, list[Citation]]:
        """Take a verbatim quotation, which `shown` is but for mark-up such as a table's rule.

        `before` leads up to it: a blank, a list's marker, a code fence. No policy touches the
        book's own words: they are neither a model's text nor a prompt.
        """
        if [*words(shown)] != [*words(quote.text)]:
            return "", []
        self.text += before
        span = (len(self.text), len(self.text) + len(shown))
        self.text += shown
        self._quoted.append(Statement(*span, supported=True))
        citation = self._list.add(span, quote)
        return before + shown, [citation] if citation else []

    def end_quotes(self, after: str) -> str:
        """Take what stands behind the last quotation: the end of a code fence."""
        self.text += after
        return after

    def close(self) -> tuple[str, list[Citation]]:
        """Return what was held back until the end. Citations beyond the text are dropped."""
        rest = self._links.feed(self._guard.close())
        return self._show(rest + self._links.close())

    def _show(self, shown: str) -> tuple[str, list[Citation]]:
        self.text += shown
        ready: list[tuple[Span, str]] = []
        waiting: list[tuple[Span, str]] = []
        for span, paragraph_id in self._pending:
            start, end = (self._links.shown_at(max(0, offset)) for offset in span)
            if start is None or end is None:
                waiting.append((span, paragraph_id))
            else:
                ready.append(((start, end), paragraph_id))
        self._pending = waiting
        return shown, self._verify(ready)

    @property
    def recited(self) -> bool:
        """Whether the rest was withheld since it was the program's own prompt."""
        return self._guard.recited

    @property
    def citations(self) -> tuple[Citation, ...]:
        return self._list.citations

    @property
    def precision(self) -> float:
        """Share of the citations taken in that were verified; 1 when there were none."""
        return self._verified / self._claimed if self._claimed else 1.0

    def _verify(self, claims: Sequence[tuple[Span, str]]) -> list[Citation]:
        found: list[Citation] = []
        for (start, end), paragraph_id in claims:
            sentence = self._sentence_until(end)
            quote = self._verifier.verify(self.text[start:end], paragraph_id, sentence)
            if quote is None:
                continue
            self._verified += 1
            citation = self._list.add((start, end), quote)
            found += [citation] if citation else []
        return found

    def _sentence_until(self, end: int) -> str:
        """Return the sentence that `text[:end]` ends in, as far as it goes."""
        begin = max(self.text.rfind(mark, 0, end) for mark in (". ", "? ", "! ", "\n"))
        return self.text[begin + 1 : end]

    def statements(self) -> tuple[Statement, ...]:
        """Every quotation, or every sentence that says something; and whether citations bear it."""
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

    def _supported(self, start: int, end: int) -> bool:
        ids = {one.paragraph_id for one in self.citations if one.start < end and start < one.end}
        pieces = [piece for one in sorted(ids) for piece in self._verifier.paragraphs[one]]
        return bool(pieces) and self._verifier.supports(self.text[start:end], pieces)


def coverage(statements: Sequence[Statement]) -> float:
    """Share of the statements that are supported; 1 when there are none."""
    if not statements:
        return 1.0
    return sum(one.supported for one in statements) / len(statements)
