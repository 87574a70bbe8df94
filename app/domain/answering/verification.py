"""Verification: whether the cited paragraph supports the claim, and by which quote.

A claim is supported by a quote, one to three adjacent sentences of the cited paragraph, if

1. every number of the claim is in the quote,
2. every name of the claim is in the quote, in the headings above it or in the question, and
3. more than `MIN_COVERAGE` of the claim's terms are in the quote (one in the headings counts half).

The shortest such quote is used for the citation. For an answer in another language than the book's
only the first two conditions apply.

A sentence without a citation is attributed to the paragraph that supports it and has the largest
share of its terms in the same order, by their longest common subsequence; at least `MIN_ORDER`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from app.domain.answering.units import WHOLE, SplitSentences, Unit, sentences_and_fences
from app.domain.document import Span
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import Terms, names, numbers, words

MIN_COVERAGE = 0.5
MAX_QUOTE_SENTENCES = 3
MIN_ORDER = 0.75
"""With it 87 % of 540 sentences of clapnq-dev's human answers are attributed to theirs, 3 %
of 563 sentences of OpenStax Biology that no consulted paragraph has, and 24 % of the former with
exchanged halves; with 0.65 it is 89, 5 and 52 %, with 0.85 it is 81, 2 and 7 %."""
MIN_TERMS = 3
"""Shorter texts, such as a heading or "Yes, it does.", are not attributed."""


@dataclass(frozen=True, slots=True)
class _Content:
    """Features by which claims and texts are compared."""

    terms: frozenset[int]
    numbers: frozenset[str]
    words: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verifies claims against the paragraphs of one context, and attributes sentences to them.

    It caches the contents of all texts, so it is used for one answer only.
    """

    paragraphs: Mapping[str, tuple[ContextPassage, ...]]
    """Paragraph id -> its pieces in the context, in reading order."""
    terms: Terms
    split_sentences: SplitSentences
    question_words: frozenset[str] = frozenset()
    """Words as returned by `words`: a claim may use the question's names."""
    language: str = "en"
    """Language of the book: an ISO 639-1 code."""
    translated: bool = False
    """True if the answer is not in the book's language."""
    _contents: dict[str, _Content] = field(default_factory=dict, init=False)
    _sentences: dict[str, Sequence[Span]] = field(default_factory=dict, init=False)

    def verify(self, claim: str, paragraph_id: str, sentence: str = "") -> Unit | None:
        """Return the shortest quote that supports the claim, or None.

        `sentence` is the sentence of the answer with the claim; of quotes of equal length the one
        most similar to it is chosen.
        """
        # If the whole piece does not support the claim, no part of it does.
        pieces = [
            piece
            for piece in self.paragraphs.get(paragraph_id, ())
            if self._is_supported(claim, piece.passage.text, piece.passage.heading_path)
        ]
        for length in range(1, MAX_QUOTE_SENTENCES + 1):
            supporting = [
                quote
                for piece in pieces
                for quote in self._runs(piece, length)
                if self._is_supported(claim, quote.text, piece.passage.heading_path)
            ]
            if supporting:
                return max(supporting, key=lambda quote: self._similarity(quote, claim, sentence))
        return None

    def supports(self, claim: str, paragraph_ids: Iterable[str]) -> bool:
        """Whether these paragraphs together support the claim."""
        pieces = [piece.passage for one in paragraph_ids for piece in self.paragraphs[one]]
        heads = [head for one in pieces for head in one.heading_path]
        return self._is_supported(claim, "\n".join(one.text for one in pieces), heads)

    def attribute(self, sentence: str) -> Unit | None:
        """Return the quote that supports a sentence without a citation, or None.

        None in a translated answer, which shares no terms with the book.
        """
        if self.translated or len(self._content(sentence).terms) < MIN_TERMS:
            return None
        shares = {
            key: self._order(sentence, "\n".join(one.passage.text for one in pieces))
            for key, pieces in self.paragraphs.items()
        }
        best_first = sorted(shares, key=lambda one: -shares[one])
        near = (self.verify(sentence, one) for one in best_first if shares[one] >= MIN_ORDER)
        return next(filter(None, near), None)

    def _order(self, sentence: str, text: str) -> float:
        """Return the share of the sentence's terms that the text has in the same order."""
        said, held = (
            [t for word in words(one) for t in sorted(self.terms(word))] for one in (sentence, text)
        )
        places = Counter[int]()
        for place, term in enumerate(held):
            places[term] |= 1 << place
        # Bit-parallel longest common subsequence (Hyyrö 2004): zero bits are its terms.
        row = whole = (1 << len(held)) - 1
        for term in said:
            found = row & places[term]
            row = (row + found) | (row - found)
        return (len(held) - (row & whole).bit_count()) / max(len(said), 1)

    def _is_supported(self, claim: str, text: str, headings: Sequence[str]) -> bool:
        said, held = self._content(claim), self._content(text)
        if not said.numbers <= held.numbers:
            return False
        above = self._content(" ".join(headings))
        if not said.names <= held.words | above.words | self.question_words:
            return False
        named = above.terms - held.terms
        covered = len(said.terms & held.terms) + 0.5 * len(said.terms & named)
        return self.translated or covered > MIN_COVERAGE * len(said.terms)

    def _content(self, text: str) -> _Content:
        if text not in self._contents:
            found = (numbers(text), words(text), names(text))
            self._contents[text] = _Content(self.terms(text), *map(frozenset, found))
        return self._contents[text]

    def _runs(self, piece: ContextPassage, length: int) -> Iterable[Unit]:
        """Return the runs of so many sentences; a block that is quoted whole is one sentence."""
        text = piece.passage.text
        if text not in self._sentences:
            found = sentences_and_fences(text, self.split_sentences, self.language)
            whole = piece.passage.kind in WHOLE
            self._sentences[text] = [(0, len(text))] if whole else [span for span, _ in found]
        sentences = self._sentences[text]
        for first, last in zip(sentences, sentences[length - 1 :], strict=False):
            yield Unit(piece, first[0], last[1])

    def _similarity(self, quote: Unit, claim: str, sentence: str) -> tuple[float, int, int]:
        held = self._content(quote.text).terms
        said, around = self._content(claim).terms, self._content(sentence).terms
        share = len(held & said) + 0.5 * len(held & around)
        # Among equal scores the shorter quote, then the earlier one.
        return (share, -len(held), -quote.start)


def by_paragraph(context: Sequence[ContextPassage]) -> dict[str, tuple[ContextPassage, ...]]:
    """Return paragraph id -> its pieces, in reading order."""
    ordered = sorted(context, key=lambda one: (one.passage.paragraph_id, one.passage.start))
    grouped = groupby(ordered, key=lambda one: one.passage.paragraph_id)
    return {paragraph_id: tuple(pieces) for paragraph_id, pieces in grouped if paragraph_id}
