"""The second stage: look into the best candidates' sentences, and spread them over pages.

The first stage weighs a chunk as a bag of words. This one asks of each of the best chunks: does one
of its sentences hold what is asked, does the author define a term there, do the question's words
stand side by side, do the headings name them, and do other chunks of its page match too? All
features are from 0 to 1 and are added to the fused score with fixed weights, found on the
development sets (`scripts/bench/ablation.py`); the optimum is flat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from typing import TypeAlias

from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.definitions import definition_targets
from app.domain.retrieval.query import Hit

_Page: TypeAlias = tuple[str, str]

_PAGE_DEPTH = 3
"""Chunks of a page that speak for it."""

_DESCRIPTION = 3
"""Terms from which on a question may be the description of a term, rather than its name."""


@dataclass(frozen=True, slots=True)
class RescoringWeights:
    """How much each feature adds, where the fused score has weight 1."""

    sentence: float = 0.5
    """Share of the question's term weight that the chunk's best sentence holds."""
    definition: float = 0.4
    """The same of its best sentence that holds a term the author marks as defined."""
    pairs: float = 0.25
    """Share of the question's pairs of neighbours that are neighbours in a sentence."""
    heading: float = 0.25
    """Share of the question's term weight that the heading path holds."""
    defined: float = 1.0
    """1 if the chunk defines just what is asked: "What is TERM?"."""
    glossary: float = 0.5
    """1 if it does so in the glossary: the shortest answer goes first."""
    named: float = 0.5
    """1 if a section that begins in the chunk has just what is asked as its heading."""
    opening: float = 0.25
    """1 if one of its sentences begins with just what is asked: "Osmosis is the ..."."""
    page: float = 0.4
    """Sum of the page's best three scores, as a share of the best page's."""
    here: float = 0.2
    """1 if the chunk is on the page that the reader has open."""
    crowding: float = 0.16
    """Taken off for each chunk of the same page that ranks higher."""

    @property
    def total(self) -> float:
        """The most that a chunk can have."""
        found = self.sentence + self.definition + self.pairs + self.heading
        asked = self.defined + self.glossary + self.named + self.opening
        return 1 + found + asked + self.page + self.here


class AskedTerms:
    """A question's terms in one language, with the weight of each."""

    def __init__(
        self,
        terms: Sequence[int],
        weights: Mapping[int, float] | None = None,
        frame_words: Collection[int] = (),
    ) -> None:
        """`terms` in order, weight 1 by default; `frame_words` as in `definition_targets`."""
        weights = weights or {}
        self._weights = {term: weights.get(term, 1.0) for term in terms}
        self._distinct = frozenset(terms)
        self._whole = sum(self._weights.values()) or 1.0
        self._pairs = {(a, b): self._weights[a] + self._weights[b] for a, b in pairwise(terms)}
        self._all_pairs = sum(self._pairs.values()) or 1.0
        self.definition_targets = definition_targets(terms, frame_words)
        self.describes = len(self._distinct) >= _DESCRIPTION

    def opens(self, terms: tuple[int, ...]) -> bool:
        """Whether a sentence of these terms begins with just what is asked."""
        return any(terms[: len(focus)] == focus for focus in self.definition_targets)

    def share(self, terms: Iterable[int]) -> float:
        """Of the question's weight, the part that these terms hold, 0 to 1."""
        held = self._distinct.intersection(terms)
        return sum([self._weights[term] for term in held]) / self._whole if held else 0.0

    def pairs(self, terms: Sequence[int]) -> set[tuple[int, int]]:
        """The question's pairs of neighbours that are neighbours here."""
        return self._pairs.keys() & set(pairwise(terms))

    def pair_share(self, pairs: Iterable[tuple[int, int]]) -> float:
        return sum(self._pairs[pair] for pair in pairs) / self._all_pairs


def rescore(
    hits: Sequence[Hit],
    terms: Sequence[ChunkTerms],
    asked: Mapping[str, AskedTerms],
    weights: RescoringWeights,
    page_url: str = "",
) -> list[Hit]:
    """The same hits in their new order, with scores from 0 to 1 that never rise.

    `terms` are those of the hits' chunks; `asked` has the question in each language of a chunk;
    `page_url` is the page that the reader has open.
    """
    scores = [
        hit.score + _evidence(of_chunk, asked[hit.chunk.language], weights)
        for hit, of_chunk in zip(hits, terms, strict=True)
    ]
    pages = _page_scores(hits, scores)
    best = max(pages.values(), default=0.0) or 1.0
    here = _address(page_url)
    for position, hit in enumerate(hits):
        scores[position] += weights.page * pages[_page(hit)] / best
        scores[position] += weights.here * (_address(hit.chunk.deep_link_url) == here != "")
    total = weights.total
    return [
        _scored(hits[position], max(0.0, score) / total)
        for position, score in _spread([_page(hit) for hit in hits], scores, weights.crowding)
    ]


def _scored(hit: Hit, score: float) -> Hit:
    return Hit(hit.chunk, score, hit.dense_score, hit.sparse_score)


def _evidence(chunk: ChunkTerms, asked: AskedTerms, weights: RescoringWeights) -> float:
    sentence = definition = 0.0
    opening = False
    pairs: set[tuple[int, int]] = set()
    for one in chunk.sentences:
        share = asked.share(one.terms)
        if not share:
            continue
        sentence = max(sentence, share)
        if one.defines and asked.describes:
            definition = max(definition, share)
        pairs |= asked.pairs(one.terms)
        opening = opening or asked.opens(one.terms)
    return (
        weights.sentence * sentence
        + weights.definition * definition
        + weights.pairs * asked.pair_share(pairs)
        + weights.heading * asked.share(chunk.heading)
        + weights.defined * (not asked.definition_targets.isdisjoint(chunk.defined))
        + weights.glossary * (not asked.definition_targets.isdisjoint(chunk.glossary))
        + weights.named * (not asked.definition_targets.isdisjoint(chunk.named))
        + weights.opening * opening
    )


def _page(hit: Hit) -> _Page:
    return (hit.chunk.book, hit.chunk.file)


def _address(url: str) -> str:
    """Without fragment, query and closing slash."""
    return url.partition("#")[0].partition("?")[0].rstrip("/")


def _page_scores(hits: Sequence[Hit], scores: Sequence[float]) -> dict[_Page, float]:
    """Sum of each page's best scores."""
    by_page: dict[_Page, list[float]] = {}
    for hit, score in zip(hits, scores, strict=True):
        by_page.setdefault(_page(hit), []).append(score)
    return {page: sum(nlargest(_PAGE_DEPTH, found)) for page, found in by_page.items()}


def _spread(
    pages: Sequence[_Page], scores: Sequence[float], crowding: float
) -> Iterator[tuple[int, float]]:
    """(position, score less what its page's higher chunks take off), best first."""
    waiting = list(scores)
    taken: Counter[_Page] = Counter()
    left = set(range(len(waiting)))
    while left:
        best = max(left, key=lambda at: (waiting[at] - crowding * taken[pages[at]], -at))
        yield best, waiting[best] - crowding * taken[pages[best]]
        left.remove(best)
        taken[pages[best]] += 1
