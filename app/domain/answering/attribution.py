"""Finding the consulted paragraph that supports a sentence which carries no citation.

The verifier decides whether a paragraph supports the sentence, and by which quote. Of the quotes
that it accepts, the one with the largest share of the sentence's terms is taken, each term weighted
by its inverse document frequency among the consulted paragraphs: words that all of them have, such
as the question's own, say nothing about which one it is. The share must reach `MIN_SHARE`.

Measured by `scripts/bench/attribution.py` on clapnq-dev's human answers and on sentences of the
same page that do not stand in the consulted paragraphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log1p

from app.domain.answering.verification import Quote, Verifier

MIN_SHARE = 0.65
"""Of 0.5 to 0.8 by `scripts/bench/attribution.py`: the least that cites about one in fifty of the
sentences that no consulted paragraph holds. 0 cites one in seven of them."""
MIN_TERMS = 3
"""A heading or "Yes, it does." has fewer: one paragraph is as good as another for it."""


@dataclass(slots=True)
class Attributor:
    """Attributes sentences of one answer to the paragraphs of its context."""

    verifier: Verifier
    _weights: Mapping[int, float] = field(init=False, repr=False)
    """Term to its weight."""
    _unknown: float = field(init=False, repr=False)
    """Weight of a term that no paragraph has: that of one which a single paragraph has."""
    _known: dict[str, Quote | None] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        terms, paragraphs = self.verifier.terms, self.verifier.paragraphs.values()
        counts: Counter[int] = Counter()
        for pieces in paragraphs:
            passages = [one.passage for one in pieces]
            heads = " ".join(head for one in passages for head in one.heading_path)
            counts.update(terms("\n".join([heads, *(one.text for one in passages)])))
        self._weights = {term: _idf(count, len(paragraphs)) for term, count in counts.items()}
        self._unknown = _idf(1, len(paragraphs))

    def attribute(self, sentence: str) -> Quote | None:
        """Return the words that support the sentence, or None.

        Always None in a translation, which shares no terms with the book.
        """
        if self.verifier.translated or len(self.verifier.terms(sentence)) < MIN_TERMS:
            return None
        if sentence not in self._known:
            self._known[sentence] = self._best(sentence)
        return self._known[sentence]

    def _best(self, sentence: str) -> Quote | None:
        accepted = [
            quote
            for paragraph_id in self.verifier.paragraphs
            if (quote := self.verifier.verify(sentence, paragraph_id))
        ]
        best = max(accepted, key=lambda quote: self._share(sentence, quote), default=None)
        return best if best and self._share(sentence, best) >= MIN_SHARE else None

    def _share(self, sentence: str, quote: Quote) -> float:
        wanted = self.verifier.terms(sentence)
        held = wanted & self.verifier.terms(quote.text)
        return self._weight(held) / (self._weight(wanted) or 1.0)

    def _weight(self, terms: frozenset[int]) -> float:
        return sum(self._weights.get(term, self._unknown) for term in terms)


def _idf(count: int, total: int) -> float:
    """As BM25 has it."""
    return log1p((total - count + 0.5) / (count + 0.5))
