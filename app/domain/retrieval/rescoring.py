"""Reranking of the best candidates by sentence, heading, definition and page features.

The first stage scores a chunk as a bag of words. The features, each 0 to 1, measure term overlap
with sentences, windows of sentences and headings, adjacent terms, marked definitions, semantic
similarity of the headings, and other matches on the same page. They are added to the fused score
with fixed weights, fitted on the development sets by `scripts/bench/ablation.py` of commit
b0315f19; the optimum is flat.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import accumulate, pairwise
from typing import TypeAlias

from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Hit, Vector

_Page: TypeAlias = tuple[str, str]

_WINDOW = 3
"""Sentences in a window."""

_PAGE_DEPTH = 3
"""Number of best chunks the sum of whose scores is the page score."""


@dataclass(frozen=True, slots=True)
class RescoringWeights:
    """Weights of the features; the fused score has weight 1."""

    sentence: float = 0.5
    """Share of the question's term weight in the best sentence."""
    window: float = 0.25
    """The same in the best window of adjacent sentences; see `_WINDOW`."""
    definition: float = 0.4
    """Share of the question's term weight in the best sentence with a term marked as defined."""
    pairs: float = 0.25
    """Share of the question's adjacent term pairs that are adjacent in a sentence."""
    heading: float = 0.25
    """Share of the question's term weight in the heading path."""
    similar: float = 0.5
    """Cosine of the question and the heading path, by the local model."""
    defined: float = 1.0
    """The share of the question that the chunk defines: 1 for TERM in "What is TERM?"."""
    named: float = 0.6
    """The same if a section that begins in the chunk has the term as its heading."""
    page: float = 0.4
    """Page score relative to the best page; see `_PAGE_DEPTH`."""
    crowding: float = 0.3
    """Penalty for every chunk of a page except its best one; it affects only the order."""

    @property
    def total(self) -> float:
        """The highest possible score."""
        words = self.sentence + self.window + self.definition + self.pairs
        return 1 + words + self.heading + self.similar + self.defined + self.named + self.page


class QuestionTerms:
    """A question's terms in one language, with the weight of each."""

    def __init__(
        self,
        terms: Sequence[int],
        weights: Mapping[int, float] | None = None,
        definition_targets: Mapping[tuple[int, ...], float] | None = None,
        vector: Vector | None = None,
    ) -> None:
        """`terms` are in order, with weight 1 by default.

        `definition_targets` are the terms whose definition the question may ask for, with the
        share of the question that each is. `vector` is the local model's, to compare with headings.
        """
        self.vector = vector or array("f")
        self._weights = {term: (weights or {}).get(term, 1.0) for term in terms}
        self.held: Callable[[Iterable[int]], frozenset[int]] = frozenset(terms).intersection
        """Return the question's terms that are among the given ones."""
        self._total = sum(self._weights.values()) or 1.0
        self._pairs = {(a, b): self._weights[a] + self._weights[b] for a, b in pairwise(terms)}
        self._all_pairs = sum(self._pairs.values()) or 1.0
        self.definition_targets = definition_targets or {}

    def defined_share(self, defined: Set[tuple[int, ...]]) -> float:
        """Return the largest share of the question that is one of these defined terms."""
        known = self.definition_targets
        return max((known[one] for one in defined & known.keys()), default=0.0)

    def weight_share(self, held: Iterable[int]) -> float:
        """Return the weight of these terms as a share of the question's term weight, 0 to 1."""
        return sum([self._weights[term] for term in held]) / self._total if held else 0.0

    def pairs(self, terms: Sequence[int]) -> Set[tuple[int, int]]:
        """Return the question's adjacent pairs that are adjacent in `terms` too."""
        return self._pairs.keys() & set(pairwise(terms))

    def pair_share(self, pairs: Iterable[tuple[int, int]]) -> float:
        return sum(self._pairs[pair] for pair in pairs) / self._all_pairs


def rescore(
    hits: Sequence[Hit],
    terms: Sequence[ChunkTerms],
    question: Mapping[str, QuestionTerms],
    weights: RescoringWeights,
    similar: Sequence[float] = (),
) -> list[Hit]:
    """Return the hits reordered, with new scores from 0 to 1, descending.

    `terms[i]` belongs to `hits[i]`; `question` maps each chunk language to the question's terms;
    `similar[i]`, unless it is empty, is the cosine of the question and the hit's heading path.
    """
    scores = [
        hit.score
        + _feature_score(of_chunk, question[hit.chunk.language], weights)
        + weights.similar * max(0.0, cosine)
        for hit, of_chunk, cosine in zip(hits, terms, similar or [0.0] * len(hits), strict=True)
    ]
    pages = [(hit.chunk.book, hit.chunk.file) for hit in hits]
    by_page: dict[_Page, list[float]] = {}
    for page, score in zip(pages, scores, strict=True):
        by_page.setdefault(page, []).append(score)
    page_scores = {page: sum(nlargest(_PAGE_DEPTH, found)) for page, found in by_page.items()}
    best = max(page_scores.values(), default=0.0) or 1.0
    for position, page in enumerate(pages):
        scores[position] += weights.page * page_scores[page] / best
    return [
        replace(hits[position], score=max(0.0, score) / weights.total)
        for position, score in _ranked(pages, scores, weights.crowding)
    ]


def _feature_score(chunk: ChunkTerms, question: QuestionTerms, weights: RescoringWeights) -> float:
    sentence = window = definition = 0.0
    pairs: set[tuple[int, int]] = set()
    held = [question.held(one.terms) for one in chunk.sentences]
    for at, (one, own) in enumerate(zip(chunk.sentences, held, strict=True)):
        if not own:  # true for four of five sentences
            continue
        share = question.weight_share(own)
        sentence = max(sentence, share)
        around = own.union(*held[max(0, at + 1 - _WINDOW) : at])
        window = max(window, question.weight_share(around))
        if one.defines:
            definition = max(definition, share)
        if len(own) > 1:
            pairs |= question.pairs(one.terms)
    return (
        weights.sentence * sentence
        + weights.window * window
        + weights.definition * definition
        + weights.pairs * question.pair_share(pairs)
        + weights.heading * question.weight_share(question.held(chunk.heading))
        + weights.defined * question.defined_share(chunk.defined)
        + weights.named * question.defined_share(chunk.headed)
    )


def _ranked(
    pages: Sequence[_Page], scores: Sequence[float], crowding: float
) -> list[tuple[int, float]]:
    """Return (position, score) in the new order, by descending score.

    The penalty changes the order, but not the scores: how well a chunk answers does not depend on
    its neighbours. Only a score above the previous one is lowered to it.
    """
    seen: set[_Page] = set()
    penalised: list[tuple[float, int]] = []
    for position in sorted(range(len(scores)), key=lambda at: (-scores[at], at)):
        page = pages[position]
        penalised.append((crowding * (page in seen) - scores[position], position))
        seen.add(page)
    order = [position for _, position in sorted(penalised)]
    return list(zip(order, accumulate((scores[at] for at in order), min), strict=True))
