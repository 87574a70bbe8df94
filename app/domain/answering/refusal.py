"""Does the book answer the question? One score from what retrieval found.

score = 1 / (1 + exp(-sum)), where sum = TITLE * title + PARAGRAPH * paragraph + SENTENCE * sentence
+ SHARE * share + PHRASES * phrases + SIZE * size + BIAS

`title`, `paragraph` and `sentence` are the greatest cosines between the question and one of the
hits' titles, paragraphs (under their titles) and sentences, by the local model whatever model
searched: so the score and its thresholds hold for every embedder. `share` is the best hit's BM25
score as a part of the most that the question's `RAREST` rarest terms could give: low when what is
asked for is not in the book or not in one place. `phrases` says how much of the question stands
word beside word in one hit. `size` is the logarithm of the number of chunks: the best of many is
good by chance. Weights: logistic regression on the dev sets and readers' questions, each book's own
against those about the other books (`scripts/bench/refusal.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from math import exp, log

from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Hit

RAREST = 8
"""Terms of a long question that count: the rest is its setting, or code."""
FEWEST_CHUNKS = 100
"""A smaller book counts as one of this size: none was there to learn from."""

TITLE, PARAGRAPH, SENTENCE = 1.9, 8.3, 6.0
SHARE, SIZE, BIAS = 7.2, -0.82, -5.2
PHRASES = 0.9
"""Held at that while the others were fitted: with more, near misses pass more easily."""

THRESHOLD = 0.35
"""Below it an extractive answer is refused."""
GENERATOR_THRESHOLD = 0.1
"""Below it a generator is not even asked; above it the generator reads and decides."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Cosines go from -1 to 1, `share` from 0 to 1, `phrases` from 0 to about 4."""

    title: float
    paragraph: float
    sentence: float
    share: float
    phrases: float
    chunks: int
    """Of the books that were searched."""

    @property
    def size(self) -> float:
        return log(max(self.chunks, FEWEST_CHUNKS))


def answerability(found: Evidence) -> float:
    """From 0 to 1, how likely it is that the hits answer the question."""
    likeness = TITLE * found.title + PARAGRAPH * found.paragraph + SENTENCE * found.sentence
    words = SHARE * found.share + PHRASES * found.phrases
    return 1 / (1 + exp(-(likeness + words + SIZE * found.size + BIAS)))


def best_share(hits: Sequence[Hit], ceilings: Mapping[int, float]) -> float:
    """What the best of the hits has of the most that the question's terms could give."""
    best = max((hit.sparse_score or 0.0 for hit in hits), default=0.0)
    return share_of_ceilings(best, ceilings)


def share_of_ceilings(score: float, ceilings: Mapping[int, float]) -> float:
    """`ceilings` maps each term of the question to the most it could add to a BM25 score."""
    most = sum(nlargest(RAREST, ceilings.values()))
    return min(1.0, score / most) if most else 0.0


def best_phrases(
    asked: Sequence[int], hits: Sequence[ChunkTerms], ceilings: Mapping[int, float]
) -> float:
    """log(1 + what the pairs of neighbours that question and hit share weigh / the rarest term).

    `asked` are the question's terms in their order.
    """
    rarest = max(ceilings.values(), default=0.0)
    if not rarest:
        return 0.0
    pairs = set(pairwise(asked))
    shared = (
        {pair for sentence in hit.sentences for pair in pairwise(sentence.terms)} & pairs
        for hit in hits
    )
    weights = (sum(ceilings.get(a, 0.0) + ceilings.get(b, 0.0) for a, b in one) for one in shared)
    return log(1 + max(weights, default=0.0) / rarest)
