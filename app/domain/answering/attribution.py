"""Attribution: finds the consulted paragraph that supports a sentence without a citation.

The verifier decides whether a paragraph supports the sentence, and by which quote. Among the
accepted paragraphs, the one with the largest share of the sentence's terms is chosen. Each term is
weighted by its inverse document frequency among the consulted paragraphs, because terms that all of
them contain do not distinguish them. The share must reach `MIN_SHARE`.

The same terms in another order can mean something else. So the longest common subsequence of the
sentence's and the paragraph's terms, divided by the number of the sentence's terms, must reach
`MIN_ORDER`.

The constants were chosen with `scripts/bench/attribution.py` of commit b0315f19, on the human
answers of clapnq-dev and on sentences of OpenStax Biology that are in none of the consulted
paragraphs.
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
"""False citations of sentences that are in no paragraph: 14 % with 0, 2.5 % with 0.75. With 0.9
it is one point less, at a cost of six points of recall."""
MIN_ORDER = 0.65
"""Sentences with exchanged halves that are still cited: 52 % instead of 89 %, at a cost of two
points of recall."""
MIN_TERMS = 3
"""Shorter texts, such as a heading or "Yes, it does.", are not attributed."""


@dataclass
class Attributor:
    """Attributes sentences of one answer to the paragraphs of its context."""

    verifier: Verifier
    _known: dict[str, Quote | None] = field(default_factory=dict, init=False, repr=False)

    def attribute(self, sentence: str) -> Quote | None:
        """Return the quote that supports the sentence, or None.

        None in a translated answer, which shares no terms with the book.
        """
        if sentence not in self._known:
            long = len(self.verifier.terms(sentence)) >= MIN_TERMS
            tried = long and not self.verifier.translated
            self._known[sentence] = self._best(sentence) if tried else None
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
        """Return paragraph id -> weighted share of the sentence's terms in it, 0 to 1."""
        wanted = self.verifier.terms(sentence)
        whole = self._weight(wanted) or 1.0
        return {key: self._weight(wanted & held) / whole for key, held in self._terms.items()}

    def order(self, sentence: str, paragraph_id: str) -> float:
        """Return the share of the sentence's terms that the paragraph has in the same order."""
        held = self._in_order(self._texts[paragraph_id])
        places = Counter[int]()
        for place, term in enumerate(held):
            places[term] |= 1 << place
        said = self._in_order(sentence)
        # Bit-parallel longest common subsequence (Hyyrö 2004): zero bits are its terms.
        row = whole = (1 << len(held)) - 1
        for term in said:
            found = row & places[term]
            row = (row + found) | (row - found)
        return (len(held) - (row & whole).bit_count()) / max(len(said), 1)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """Paragraph id -> its text in the context."""
        paragraphs = self.verifier.paragraphs.items()
        return {key: "\n".join(one.passage.text for one in pieces) for key, pieces in paragraphs}

    @cached_property
    def _terms(self) -> Mapping[str, frozenset[int]]:
        return {key: self.verifier.terms(text) for key, text in self._texts.items()}

    @cached_property
    def _weights(self) -> Mapping[int, float]:
        """Term -> inverse document frequency."""
        counts = Counter[int]()
        for paragraph_id, pieces in self.verifier.paragraphs.items():
            heads = " ".join(head for one in pieces for head in one.passage.heading_path)
            counts.update(self._terms[paragraph_id] | self.verifier.terms(heads))
        return {term: _idf(count, len(self._terms)) for term, count in counts.items()}

    def _weight(self, terms: frozenset[int]) -> float:
        unknown = _idf(1, len(self._terms))  # as a term in one paragraph
        return sum(self._weights.get(term, unknown) for term in terms)

    def _in_order(self, text: str) -> list[int]:
        terms = self.verifier.terms
        return [term for word in words(text) for term in sorted(terms(word))]


def _idf(count: int, total: int) -> float:
    """Inverse document frequency as in BM25."""
    return log1p((total - count + 0.5) / (count + 0.5))
