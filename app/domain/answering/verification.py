"""Checking that a paragraph really supports the claim that cites it, and finding the words that do.

A claim is supported by a paragraph when

1. every number of the claim is in the paragraph,
2. every name of the claim is in the paragraph, in its heading path or in the question, and
3. of the claim's content terms at least `MIN_COVERAGE` are in the paragraph's text (those in its
   heading path count half).

Of an answer in another language than the book's only the first two can be asked. The sentence
that a claim stands in helps to choose the quote; the claim is judged by its own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from app.domain.answer import Citation
from app.domain.answering.terms import Terms, names, numbers, words
from app.domain.answering.units import WHOLE, SplitSentences
from app.domain.document import Span
from app.domain.retrieval.query import ContextPassage

MIN_COVERAGE = 0.5
"""Share of a claim's content terms that its paragraph must hold."""

QUOTE_CONTEXT = 32
"""Characters of `prefix` and `suffix`, as browsers' text-quote anchoring takes."""


@dataclass(frozen=True, slots=True)
class Quote:
    """`context.passage.text[start:end]`, the sentence that supports a claim best."""

    context: ContextPassage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.context.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Verifier:
    """Holds the paragraphs of one context and judges claims against them."""

    paragraphs: Mapping[str, tuple[ContextPassage, ...]]
    """Paragraph id to its pieces in the context, in reading order."""
    terms: Terms
    split_sentences: SplitSentences
    question: str = ""
    language: str = "en"
    """The book's, as an ISO 639-1 code."""
    translated: bool = False
    """True when the answer is not in the book's language."""

    def verify(self, claim: str, paragraph_id: str, sentence: str = "") -> Quote | None:
        """Return the best supporting sentence of the paragraph; None if it does not support.

        `sentence` is what surrounds the claim in the answer: it helps to choose the quote.
        """
        pieces = self.paragraphs.get(paragraph_id, ())
        if not pieces or not self.supports(claim, pieces):
            return None
        return max(
            (quote for piece in pieces for quote in self._quotes(piece)),
            key=lambda quote: self._closeness(quote, claim, sentence),
            default=None,
        )

    def supports(self, claim: str, pieces: Sequence[ContextPassage]) -> bool:
        """Whether these paragraphs together bear the claim, by the rule above."""
        text = "\n".join(piece.passage.text for piece in pieces)
        headings = " ".join(head for piece in pieces for head in piece.passage.heading_path)
        if not numbers(claim) <= numbers(text):
            return False
        if not names(claim) <= set(words(f"{text} {headings} {self.question}")):
            return False
        return self.translated or self._coverage(claim, text, headings) >= MIN_COVERAGE

    def _coverage(self, claim: str, text: str, headings: str) -> float:
        wanted = self.terms(claim)
        if not wanted:
            return 0.0
        held = self.terms(text)
        named = self.terms(headings) - held
        return (len(wanted & held) + 0.5 * len(wanted & named)) / len(wanted)

    def _quotes(self, piece: ContextPassage) -> Iterable[Quote]:
        passage = piece.passage
        if passage.kind in WHOLE:
            yield Quote(piece, 0, len(passage.text))
            return
        for start, end in self.split_sentences(passage.text, self.language):
            yield Quote(piece, start, end)

    def _closeness(self, quote: Quote, claim: str, sentence: str) -> tuple[float, int, int]:
        held = self.terms(quote.text)
        share = len(held & self.terms(claim)) + 0.5 * len(held & self.terms(sentence))
        # Of equal sentences the shorter, then the earlier one.
        return (share, -len(held), -quote.start)


def by_paragraph(context: Sequence[ContextPassage]) -> dict[str, tuple[ContextPassage, ...]]:
    """Paragraph id to its pieces, in reading order."""
    ordered = sorted(context, key=lambda one: (one.passage.paragraph_id, one.passage.start))
    grouped = groupby(ordered, key=lambda one: one.passage.paragraph_id)
    return {paragraph_id: tuple(pieces) for paragraph_id, pieces in grouped if paragraph_id}


class CitationList:
    """The citations of one answer as they are found: numbered by first use of a paragraph."""

    def __init__(self, paragraphs: Mapping[str, tuple[ContextPassage, ...]]) -> None:
        self._paragraphs = paragraphs
        self._numbers: dict[str, int] = {}
        self._seen: set[tuple[int, int, str]] = set()
        self._citations: list[Citation] = []

    @property
    def citations(self) -> tuple[Citation, ...]:
        """By place in the answer."""
        return tuple(sorted(self._citations, key=lambda one: (one.start, one.end, one.index)))

    def add(self, span: Span, quote: Quote) -> Citation | None:
        """Return the new citation; None if this claim already cites this paragraph."""
        passage = quote.context.passage
        key = (*span, passage.paragraph_id)
        if key in self._seen:
            return None
        self._seen.add(key)
        index = self._numbers.setdefault(passage.paragraph_id, len(self._numbers) + 1)
        pieces = self._paragraphs[passage.paragraph_id]
        text = passage.text
        citation = Citation(
            index=index,
            start=span[0],
            end=span[1],
            paragraph_id=passage.paragraph_id,
            url=passage.url,
            title=quote.context.section,
            heading_path=passage.heading_path,
            quote=quote.text,
            book=quote.context.book,
            file=quote.context.file,
            spans=tuple((piece.passage.start, piece.passage.end) for piece in pieces),
            prefix=text[max(0, quote.start - QUOTE_CONTEXT) : quote.start],
            suffix=text[quote.end : quote.end + QUOTE_CONTEXT],
        )
        self._citations.append(citation)
        return citation
