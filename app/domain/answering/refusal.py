"""Does the book answer the question? One score from what retrieval found, and two thresholds.

score = 1 / (1 + exp(-sum)), where sum = TITLE * title + BIAS
+ the greatest, over the hits, of PARAGRAPH * paragraph + SENTENCE * sentence + SHARE * share
+ PHRASES * phrases + DEFINED * defined

`title` is the greatest cosine similarity of the question and a hit's title. The other features are
of one hit, since an answer stands in one place: the cosine of its most similar paragraph (under its
title) and of the most similar sentence in it; `share`, its BM25 score divided by the upper bound of
the question's `RAREST` rarest terms, which is low when the terms are not in the book or not in one
place; `phrases`, the weight of the word pairs that question and hit share; `defined`, the share of
the question that is one term defined there. A one-letter term counts in `share` only beside its
neighbour in the question: the "p" of "p value" is not that of "p. 12". The local model makes all
cosines, whatever model searched, so the thresholds hold for every embedder. The size of the book is
no feature: a chapter more changes no score by itself. The weights are a logistic regression on the
dev sets, readers' questions and the development half of students' questions, answerable against
out-of-domain ones (`scripts/bench/refusal.py`, `specs/decisions/0008-refusal.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from math import exp, log

from app.domain.answer import Confidence
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Vector

RAREST = 8
"""Terms of a long question that count: the rest is its setting, or code."""

TITLE, PARAGRAPH, SENTENCE = 3.6, 7.0, 5.4
SHARE, DEFINED, BIAS = 5.0, 7.9, -8.2
PHRASES = 1.5
"""Held at that while the others were fitted: with more, near misses pass more easily."""

REFUSAL_THRESHOLD = 0.15
"""Below it the question is out of domain. Of the students' answerable questions at most 2 % are."""
ANSWER_THRESHOLD = 0.91
"""From it on the book answers. Fitted by `scripts/bench/refusal.py` on 395 questions in readers'
words: below it are 13 % of the answerable and 78 % of the near-topic unanswerable ones."""


@dataclass(frozen=True, slots=True)
class RefusalPolicy:
    """Maps answerability, from 0 to 1, to one of three answers."""

    refusal_threshold: float = REFUSAL_THRESHOLD
    """Below it: not in the book."""
    answer_threshold: float = ANSWER_THRESHOLD
    """From it on: answered; between the two: uncertain."""
    model: bool = False
    """Whether a model writes; it needs no help with abbreviations and misspellings."""

    def confidence(self, answerability: float, *, other_language: bool = False) -> Confidence:
        """A question in another language than the book's is never refused by its score: the local
        model and BM25 miss what its words mean.
        """
        if answerability < self.refusal_threshold and not other_language:
            return Confidence.NOT_IN_BOOK
        if answerability < self.answer_threshold:
            return Confidence.UNCERTAIN
        return Confidence.ANSWERED


@dataclass(frozen=True, slots=True)
class Reading:
    """A wording of the question, as answerability is scored for it."""

    terms: Sequence[int]
    """In the order of the text, repeats kept."""
    letters: frozenset[int]
    """The terms of single letters."""
    bounds: Mapping[int, float]
    """Term to the most it could add to a BM25 score."""
    vector: Vector
    """Of the local model; its inner product with a text's vector is their similarity."""


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


def answerability(found: Evidence) -> float:
    """From 0 to 1, how likely it is that the hits answer the question."""
    best = max((one.weight for one in found.hits), default=0.0)
    return 1 / (1 + exp(-(TITLE * found.title + best + BIAS)))


def share_of_bounds(score: float, bounds: Mapping[int, float]) -> float:
    """`bounds` maps each term of the question to the most it could add to a BM25 score."""
    most = sum(nlargest(RAREST, bounds.values()))
    return min(1.0, score / most) if most else 0.0


def counted_score(
    score: float,
    asked: Sequence[int],
    one_letter: Collection[int],
    hit: ChunkTerms,
    bounds: Mapping[int, float],
) -> float:
    """The hit's BM25 score without one-letter terms that lack their neighbour in the question.

    `asked` are the question's terms in their order, `one_letter` those of a single letter. A
    question of such terms alone keeps its score.
    """
    if not one_letter or bounds.keys() <= set(one_letter):
        return score
    beside = {term for pair in _shared_pairs(asked, hit) for term in pair}
    told = {term for sentence in hit.sentences for term in sentence.terms}.union(hit.heading)
    counted = (told & bounds.keys()) - (set(one_letter) - beside)
    return min(score, sum(bounds[term] for term in counted))


def phrases(asked: Sequence[int], hit: ChunkTerms, bounds: Mapping[int, float]) -> float:
    """log(1 + what the pairs of neighbours that question and hit share weigh / the rarest term).

    `asked` are the question's terms in their order.
    """
    rarest = max(bounds.values(), default=0.0)
    if not rarest:
        return 0.0
    shared = _shared_pairs(asked, hit)
    return log(1 + sum(bounds.get(a, 0.0) + bounds.get(b, 0.0) for a, b in shared) / rarest)


def _shared_pairs(asked: Sequence[int], hit: ChunkTerms) -> set[tuple[int, int]]:
    """The pairs of neighbours that question and hit share."""
    told = {pair for sentence in hit.sentences for pair in pairwise(sentence.terms)}
    return told.intersection(pairwise(asked))


def defined_share(hit: ChunkTerms, bounds: Mapping[int, float]) -> float:
    """The share of the question that is one term defined in the hit, all of it asked for."""
    asked = [set(form) for form in hit.defined if bounds.keys() >= set(form)]
    best = max((sum(map(bounds.__getitem__, form)) for form in asked), default=0.0)
    return share_of_bounds(best, bounds)
