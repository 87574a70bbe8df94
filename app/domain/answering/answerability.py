"""Answerability: a score of how likely the hits answer the question, and two thresholds.

score = 1 / (1 + exp(-sum)), where sum = BIAS + the greatest, over the hits, of
PARAGRAPH * paragraph + SHARE * share + PHRASES * phrases + DEFINED * defined

The features of a hit:

- `paragraph`: cosine of the question and the hit's most similar paragraph, with its title
- `share`: BM25 score divided by the upper bound of the question's `RAREST` rarest terms; low if the
  terms are not in the book or not in one place
- `phrases`: weight of the word pairs that question and hit have in common
- `defined`: share of the question that is one term defined in the hit

A one-letter term counts in `share` only next to its neighbour in the question: the "p" of "p value"
does not match "p. 12". The local model computes the cosines, so the thresholds hold for every
embedder. The weights are a logistic regression of answerable against out-of-domain questions, on
the dev sets, readers' questions and the development half of students' questions
(`scripts/bench/refusal.py` of commit b0315f19, `specs/decisions/0008-refusal.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise
from math import exp, log

from app.domain.answer import Confidence
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Vector

RAREST = 8
"""Maximum number of terms used, rarest first; other terms of a long question are often its setting
or code."""

PARAGRAPH, SHARE, DEFINED, BIAS = 12.3, 6.4, 10.3, -7.9
PHRASES = 1.5
"""Fixed while the other weights were fitted: a larger one accepts more near-topic unanswerable
questions."""

REFUSAL_THRESHOLD = 0.15
"""Below it a question is refused as out of domain; so are at most 2 % of the students' answerable
questions."""
ANSWER_THRESHOLD = 0.89
"""At or above it a question is answered. Fitted on 395 questions in readers' words by the same
program: 12 % of the answerable and 81 % of the near-topic unanswerable ones are below."""
RELEVANCE_THRESHOLD = 0.5
"""Relevance by a calibrated reranker below which a question is not in the book. Not measured: a
calibrated score of 0.5 is as likely relevant as not. `eval` suggests a value."""

UNNAMED = 2.0
"""Factor on that threshold if the book does not name what the question is about: "when is the final
exam?" about a book on Rust. No answerable development question is refused for it."""


@dataclass(frozen=True, slots=True)
class RefusalPolicy:
    """Maps answerability, from 0 to 1, to one of three answers."""

    refusal_threshold: float = REFUSAL_THRESHOLD
    """Below it: not in the book."""
    answer_threshold: float = ANSWER_THRESHOLD
    """At or above it: answered. Between the two: uncertain."""
    model: bool = False
    """Whether a model writes the answer. If so, abbreviations are not expanded, and a question in
    an unrecognised language is not refused by its score."""
    relevance_threshold: float = RELEVANCE_THRESHOLD
    """The only threshold if the score is the relevance by a calibrated reranker."""
    by_relevance: bool = False
    """Whether the score is that relevance."""

    def of_relevance(self) -> RefusalPolicy:
        """Return the policy for the relevance by a calibrated reranker: answered or refused."""
        one = self.relevance_threshold
        return replace(self, refusal_threshold=one, answer_threshold=one, by_relevance=True)

    def confidence(
        self, answerability: float, *, other_language: bool = False, named: bool = True
    ) -> Confidence:
        """Return the confidence for this score.

        A question in another language than the book's is never refused by its score, because the
        local model and BM25 do not match words across languages. Otherwise a question is at most
        uncertain if the book does not name what it is about.
        """
        least = self.refusal_threshold * (1.0 if named else UNNAMED)
        if answerability < least and not other_language:
            return Confidence.NOT_IN_BOOK
        if answerability < self.answer_threshold or not (named or other_language):
            return Confidence.UNCERTAIN
        return Confidence.ANSWERED


@dataclass(frozen=True, slots=True)
class Reading:
    """A wording of the question, as terms and a vector."""

    terms: Sequence[int]
    """In the order of the text, with repeats."""
    letters: frozenset[int]
    """The one-letter terms."""
    bounds: Mapping[int, float]
    """Term -> upper bound of its BM25 score."""
    vector: Vector
    """Normalised vector of the local model."""


@dataclass(frozen=True, slots=True)
class Support:
    """The features of one hit.

    `paragraph` is from -1 to 1, `phrases` from 0 to about 4, `share` and `defined` from 0 to 1.
    """

    paragraph: float
    share: float
    phrases: float
    defined: float

    @property
    def weight(self) -> float:
        similarity = PARAGRAPH * self.paragraph + SHARE * self.share
        return similarity + PHRASES * self.phrases + DEFINED * self.defined


def answerability(hits: Sequence[Support]) -> float:
    """Return the probability that the hits answer the question, 0 to 1."""
    best = max((one.weight for one in hits), default=0.0)
    return 1 / (1 + exp(-(best + BIAS)))


def share_of_bounds(score: float, bounds: Mapping[int, float]) -> float:
    """Return the BM25 score relative to its upper bound; `bounds` are those of each term."""
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

    `asked` are the question's terms in order, `one_letter` the one-letter terms. If the question
    has no other terms, the score is returned unchanged.
    """
    if not one_letter or bounds.keys() <= set(one_letter):
        return score
    beside = {term for pair in _shared_pairs(asked, hit) for term in pair}
    held = {term for sentence in hit.sentences for term in sentence.terms}.union(hit.heading)
    counted = (held & bounds.keys()) - (set(one_letter) - beside)
    return min(score, sum(bounds[term] for term in counted))


def phrases(asked: Sequence[int], hit: ChunkTerms, bounds: Mapping[int, float]) -> float:
    """Return log(1 + weight of the common adjacent pairs / weight of the rarest term).

    `asked` are the question's terms in order.
    """
    rarest = max(bounds.values(), default=0.0)
    if not rarest:
        return 0.0
    shared = _shared_pairs(asked, hit)
    return log(1 + sum(bounds.get(a, 0.0) + bounds.get(b, 0.0) for a, b in shared) / rarest)


def _shared_pairs(asked: Sequence[int], hit: ChunkTerms) -> set[tuple[int, int]]:
    """Return the pairs of adjacent terms that question and hit have in common."""
    wanted = set(pairwise(asked))
    return {
        pair for sentence in hit.sentences for pair in pairwise(sentence.terms) if pair in wanted
    }


def defined_share(hit: ChunkTerms, bounds: Mapping[int, float]) -> float:
    """Return the largest share of the question that is one term defined in the hit."""
    asked = [set(form) for form in hit.defined if bounds.keys() >= set(form)]
    best = max((sum(map(bounds.__getitem__, form)) for form in asked), default=0.0)
    return share_of_bounds(best, bounds)
