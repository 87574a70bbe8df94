"""Finding the consulted paragraph that supports a sentence which carries no citation.

The verifier decides whether a paragraph supports the sentence, and by which quote. Of those that it
accepts, the one with the largest share of the sentence's terms is taken, each term weighted by its
inverse document frequency among the consulted paragraphs: words that all of them have, such as the
question's own, say nothing about which one it is. The share must reach `MIN_SHARE`.

The same terms in another order say something else, and so do terms said over and over. So
`MIN_ORDER` of the sentence's terms, repeats counted, must stand in the paragraph in the sentence's
order: the length of the longest common subsequence.

The constants were chosen by `scripts/bench/attribution.py`, on clapnq-dev's human answers and on
sentences of the same page that no consulted paragraph holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import log1p

from app.domain.answering.verification import Quote, Verifier
from app.domain.terms import words

MIN_SHARE = 0.75
"""0 cites one in seven of the sentences that no paragraph holds, this one in forty; 0.9 spares one
more in a hundred and loses six points of recall."""
MIN_ORDER = 0.65
"""Costs two points of recall; of sentences with exchanged halves it cites 52 % instead of 89."""
MIN_TERMS = 3
"""A heading or "Yes, it does." has fewer: one paragraph is as good as another for it."""


@dataclass
class Attributor:
    """Attributes sentences of one answer to the paragraphs of its context.

    Quotations need no attribution, so nothing is counted before the first sentence that does.
    """

    verifier: Verifier
    _places: dict[str, tuple[int, Mapping[int, int]]] = field(
        default_factory=dict, init=False, repr=False
    )
    """Paragraph id to the number of its terms, and each term to the bits of its places."""
    _known: dict[str, Quote | None] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _terms(self) -> Mapping[str, frozenset[int]]:
        """Paragraph id to the terms of its text."""
        return {
            paragraph_id: self.verifier.terms("\n".join(one.passage.text for one in pieces))
            for paragraph_id, pieces in self.verifier.paragraphs.items()
        }

    @cached_property
    def _weights(self) -> Mapping[int, float]:
        """Term to its weight."""
        counts = Counter[int]()
        for paragraph_id, pieces in self.verifier.paragraphs.items():
            heads = " ".join(head for one in pieces for head in one.passage.heading_path)
            counts.update(self._terms[paragraph_id] | self.verifier.terms(heads))
        return {term: _idf(count, len(self._terms)) for term, count in counts.items()}

    @property
    def _unknown(self) -> float:
        """Weight of a term that no paragraph has: the same as for a single paragraph."""
        return _idf(1, len(self._terms))

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
        shares = self.shares(sentence)
        return max(
            (
                quote
                for paragraph_id, share in shares.items()
                if share >= MIN_SHARE
                and self.order(sentence, paragraph_id) >= MIN_ORDER
                and (quote := self.verifier.verify(sentence, paragraph_id))
            ),
            key=lambda quote: shares[quote.context.passage.paragraph_id],
            default=None,
        )

    def shares(self, sentence: str) -> dict[str, float]:
        """Paragraph id to its weighted share of the sentence's terms, 0 to 1."""
        wanted = self.verifier.terms(sentence)
        whole = self._weight(wanted) or 1.0
        return {key: self._weight(wanted & held) / whole for key, held in self._terms.items()}

    def order(self, sentence: str, paragraph_id: str) -> float:
        """Share of the sentence's terms, repeats counted, that the paragraph has in their order."""
        if paragraph_id not in self._places:
            pieces = self.verifier.paragraphs[paragraph_id]
            held = self._in_order("\n".join(one.passage.text for one in pieces))
            bits = Counter[int]()
            for place, term in enumerate(held):
                bits[term] |= 1 << place
            self._places[paragraph_id] = len(held), bits
        length, places = self._places[paragraph_id]
        said = self._in_order(sentence)
        # Longest common subsequence, one operation a term (Hyyrö 2004): its bits become 0.
        row = whole = (1 << length) - 1
        for term in said:
            found = row & places.get(term, 0)
            row = (row + found) | (row - found)
        return (length - (row & whole).bit_count()) / max(len(said), 1)

    def _in_order(self, text: str) -> list[int]:
        terms = self.verifier.terms
        return [term for word in words(text) for term in sorted(terms(word))]

    def _weight(self, terms: frozenset[int]) -> float:
        weights, unknown = self._weights, self._unknown
        return sum(weights.get(term, unknown) for term in terms)


def _idf(count: int, total: int) -> float:
    """As BM25 has it."""
    return log1p((total - count + 0.5) / (count + 0.5))
