"""The second stage: look into the best candidates' sentences, and spread them over pages.

The first stage weighs a chunk as a bag of words. This one asks of each of the best chunks: does one
of its sentences hold what is asked, does the author define a term there, do the question's words
stand side by side, do the headings name them, and do other chunks of its page match too? All
features are from 0 to 1 and are added to the fused score with fixed weights, found on the
development sets (see `scripts/bench/ablation.py`); the optimum is flat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.definitions import focuses, term_forms
from app.domain.retrieval.query import Hit

TermsOf: TypeAlias = Callable[[str, str], Sequence[int]]
"""(text, language) -> its term ids in order, repeats kept, stop words left out."""

# Good enough to score by; never used to cut text that is shown.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

_PAGE_DEPTH = 3
"""Chunks of a page that speak for it."""


@dataclass(frozen=True, slots=True)
class RescoringWeights:
    """How much each feature adds, where the fused score has weight 1."""

    sentence: float = 0.5
    """Share of the question's term weight that the chunk's best sentence holds."""
    definition: float = 0.5
    """The same of its best sentence that holds a term the author marks as defined there."""
    pairs: float = 0.35
    """Share of the question's neighbouring terms that are neighbours in the chunk."""
    heading: float = 0.25
    """Share of the question's term weight that the heading path holds."""
    defined: float = 1.0
    """1 if the chunk defines just what is asked: "What is TERM?"."""
    page: float = 0.5
    """Sum of the page's best three scores, as a share of the best page's."""
    crowding: float = 0.12
    """Taken off for each chunk of the same page that ranks higher."""

    @property
    def total(self) -> float:
        return (
            1
            + self.sentence
            + self.definition
            + self.pairs
            + self.heading
            + self.defined
            + (self.page)
        )


class AskedTerms:
    """A question's terms in one language, with the weight of each."""

    def __init__(
        self,
        terms: Sequence[int],
        weights: Mapping[int, float] | None = None,
        carriers: Collection[int] = (),
    ) -> None:
        """`terms` in order; one without a weight has weight 1; for `carriers` see `focuses`."""
        weights = weights or {}
        self._weights = {term: weights.get(term, 1.0) for term in terms}
        self._whole = sum(self._weights.values()) or 1.0
        self._pairs = {(a, b): self._weights[a] + self._weights[b] for a, b in pairwise(terms)}
        self._all_pairs = sum(self._pairs.values()) or 1.0
        self._focuses = focuses(terms, carriers)

    def share(self, terms: Iterable[int]) -> float:
        """Of the question's weight, the part that these terms hold, 0 to 1."""
        weights = self._weights
        return sum(weights[term] for term in weights.keys() & set(terms)) / self._whole

    def pairs(self, terms: Sequence[int]) -> set[tuple[int, int]]:
        """The question's pairs of neighbours that are neighbours here."""
        return self._pairs.keys() & set(pairwise(terms))

    def pair_share(self, pairs: Iterable[tuple[int, int]]) -> float:
        return sum(self._pairs[pair] for pair in pairs) / self._all_pairs

    def asks_for(self, term: Sequence[int]) -> bool:
        """Whether the question is just what this term is."""
        return tuple(term) in self._focuses


def rescore(
    hits: Sequence[Hit],
    asked: Mapping[str, AskedTerms],
    terms_of: TermsOf,
    weights: RescoringWeights = RescoringWeights(),
) -> list[Hit]:
    """The same hits in their new order, with scores from 0 to 1 that never rise.

    `asked` has the question in each language that a hit's chunk has.
    """
    scored = {
        position: hit.score + _evidence(hit.chunk, asked[hit.chunk.language], terms_of, weights)
        for position, hit in enumerate(hits)
    }
    pages = _pages(hits, scored)
    top = max(pages.values(), default=0.0) or 1.0
    for position, hit in enumerate(hits):
        scored[position] += weights.page * pages[_page(hit)] / top
    return [
        replace(hits[position], score=max(0.0, score) / weights.total)
        for position, score in _spread(hits, scored, weights.crowding)
    ]


def _evidence(
    chunk: Chunk, asked: AskedTerms, terms_of: TermsOf, weights: RescoringWeights
) -> float:
    sentence = definition = 0.0
    pairs: set[tuple[int, int]] = set()
    defined = False
    for passage in chunk.passages:
        marked = [
            terms_of(form, chunk.language) for term in passage.terms for form in term_forms(term)
        ]
        defined = defined or any(map(asked.asks_for, marked))
        for text in _sentences(passage):
            terms = terms_of(text, chunk.language)
            share = asked.share(terms)
            sentence = max(sentence, share)
            if share > definition and any(set(term) <= set(terms) for term in marked if term):
                definition = share
            pairs |= asked.pairs(terms)
    heading = asked.share(terms_of(" ".join(chunk.heading_path), chunk.language))
    return (
        weights.sentence * sentence
        + weights.definition * definition
        + weights.pairs * asked.pair_share(pairs)
        + weights.heading * heading
        + weights.defined * defined
    )


def _sentences(passage: Passage) -> list[str]:
    if passage.kind is BlockKind.HEADING:
        return []
    if passage.kind is BlockKind.CODE:
        return [passage.text]
    return _SENTENCE_END.split(passage.text)


def _page(hit: Hit) -> tuple[str, str]:
    return (hit.chunk.book, hit.chunk.file)


def _pages(hits: Sequence[Hit], scored: Mapping[int, float]) -> dict[tuple[str, str], float]:
    """Sum of each page's best scores."""
    scores: dict[tuple[str, str], list[float]] = {}
    for position, hit in enumerate(hits):
        scores.setdefault(_page(hit), []).append(scored[position])
    return {page: sum(nlargest(_PAGE_DEPTH, found)) for page, found in scores.items()}


def _spread(
    hits: Sequence[Hit], scored: Mapping[int, float], crowding: float
) -> Iterator[tuple[int, float]]:
    """(position, score less what its page's higher chunks take off), best first."""
    waiting = dict(scored)
    taken: Counter[tuple[str, str]] = Counter()
    while waiting:
        scores = {at: score - crowding * taken[_page(hits[at])] for at, score in waiting.items()}
        best = max(scores, key=lambda at: (scores[at], -at))
        yield best, scores[best]
        del waiting[best]
        taken[_page(hits[best])] += 1
