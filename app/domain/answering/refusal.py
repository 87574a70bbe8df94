"""Does the book answer the question? One score from what retrieval found.

score = 1 / (1 + exp(-sum)), where sum = TITLE * title + SIZE * size + BIAS
+ the greatest, over the hits, of PARAGRAPH * paragraph + SENTENCE * sentence + SHARE * share
+ PHRASES * phrases + DEFINED * defined

`title` is the greatest cosine similarity of the question and a hit's title. The other features are
of one hit, since an answer stands in one place: the cosine of its most similar paragraph (under its
title) and of the most similar sentence in it; `share`, its BM25 score divided by the upper bound of
the question's `RAREST` rarest terms, which is low when the terms are not in the book or not in one
place; `phrases`, the weight of the word pairs that question and hit share; `defined`, the share of
the question that is one term defined there. The local model makes all cosines, whatever model
searched, so one threshold holds for every embedder. `size` is the logarithm of the number of
chunks: the best of many scores well by chance. The weights are a logistic regression on the dev
sets and readers' questions, answerable against out-of-domain ones (`scripts/bench/refusal.py`,
`specs/decisions/0008-refusal.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from math import exp, log

from app.domain.retrieval.chunk_terms import ChunkTerms

RAREST = 8
"""Terms of a long question that count: the rest is its setting, or code."""
FEWEST_CHUNKS = 100
"""A smaller book counts as one of this size: the development sets have none."""

TITLE, PARAGRAPH, SENTENCE = 2.2, 8.8, 3.9
SHARE, DEFINED, SIZE, BIAS = 7.2, 5.4, -0.76, -4.56
PHRASES = 1.5
"""Held at that while the others were fitted: with more, near misses pass more easily."""

THRESHOLD = 0.4
"""Below it an extractive answer is refused."""
GENERATOR_THRESHOLD = 0.1
"""With a model, refuse only below this: it may find an answer that the features miss."""


@dataclass(frozen=True, slots=True)
class RefusalPolicy:
    """Which questions are refused before an answer is written, by answerability from 0 to 1."""

    threshold: float = THRESHOLD
    """Below it there is no extractive answer."""
    model_threshold: float | None = None
    """Below it a model is not even asked; above it the model decides. None without a model."""

    @property
    def rephrases(self) -> bool:
        """Whether abbreviations and misspellings are resolved first; a model needs no such help."""
        return self.model_threshold is None

    def refuses(self, answerability: float, *, in_book_language: bool) -> bool:
        """With a model, a question in another language is never refused before it is read."""
        if self.model_threshold is None:
            return answerability < self.threshold
        return in_book_language and answerability < self.model_threshold


@dataclass(frozen=True, slots=True)
class Support:
    """The features of one hit. Cosines are from -1 to 1, `phrases` from 0 to about 4, `share` and
    `defined` from 0 to 1.
    """

    paragraph: float
    sentence: float
    share: float
    phrases: float
    defined: float

    @property
    def weight(self) -> float:
        similarity = PARAGRAPH * self.paragraph + SENTENCE * self.sentence
        return similarity + SHARE * self.share + PHRASES * self.phrases + DEFINED * self.defined


@dataclass(frozen=True, slots=True)
class Evidence:
    title: float
    """A cosine."""
    hits: Sequence[Support]
    chunks: int
    """Of the books that were searched."""

    @property
    def size(self) -> float:
        return log(max(self.chunks, FEWEST_CHUNKS))


def answerability(found: Evidence) -> float:
    """From 0 to 1, how likely it is that the hits answer the question."""
    best = max((one.weight for one in found.hits), default=0.0)
    return 1 / (1 + exp(-(TITLE * found.title + best + SIZE * found.size + BIAS)))


def share_of_ceilings(score: float, ceilings: Mapping[int, float]) -> float:
    """`ceilings` maps each term of the question to the most it could add to a BM25 score."""
    most = sum(nlargest(RAREST, ceilings.values()))
    return min(1.0, score / most) if most else 0.0


def phrases(asked: Sequence[int], hit: ChunkTerms, ceilings: Mapping[int, float]) -> float:
    """log(1 + what the pairs of neighbours that question and hit share weigh / the rarest term).

    `asked` are the question's terms in their order.
    """
    rarest = max(ceilings.values(), default=0.0)
    if not rarest:
        return 0.0
    told = {pair for sentence in hit.sentences for pair in pairwise(sentence.terms)}
    shared = told.intersection(pairwise(asked))
    return log(1 + sum(ceilings.get(a, 0.0) + ceilings.get(b, 0.0) for a, b in shared) / rarest)


def defined_share(hit: ChunkTerms, ceilings: Mapping[int, float]) -> float:
    """The share of the question that is one term defined in the hit, all of it asked for."""
    asked = [set(form) for form in hit.defined if ceilings.keys() >= set(form)]
    best = max((sum(map(ceilings.__getitem__, form)) for form in asked), default=0.0)
    return share_of_ceilings(best, ceilings)
