"""Answerability: a score of how likely the hits answer the question, and two thresholds.

score = 1 / (1 + exp(-sum)), where sum = BIAS + COVERED * covered + the greatest, over the hits, of
PARAGRAPH * paragraph + SHARE * share + DEFINED * defined

- `paragraph`: cosine of the question and the hit's most similar paragraph, with its title
- `share`: BM25 score of the hit divided by the upper bound of the question's `RAREST` rarest terms
- `defined`: share of the question that is one term defined in the hit
- `covered`: share of the question's terms, weighted by rarity, that are in any of the hits

The local model computes the cosines, so the thresholds hold for every embedder. The weights are
rounded from a logistic regression on the dev sets, readers' questions and the development half of
students' questions, answerable, near-topic and out-of-domain (`specs/decisions/0008-refusal.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nlargest
from math import exp

from app.domain.answer import Confidence
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Vector

RAREST = 8
"""Maximum number of terms in the upper bound, rarest first; other terms of a long question are
often its setting or code."""

PARAGRAPH, SHARE, DEFINED, COVERED, BIAS = 12.0, 6.0, 5.0, 4.0, -10.3

REFUSAL_THRESHOLD = 0.15
"""Below it a question is refused as out of domain; so are at most 1 % of the students' answerable
development questions."""
ANSWER_THRESHOLD = 0.77
"""At or above it a question is answered: of those in readers' words 7 % of the answerable and 81 %
of the near-topic unanswerable ones are not."""
SIMILAR_WORDS_THRESHOLD = 0.005
"""Below it a question in another language is refused if similar words of the book replace its own.
20 % of xquad's Spanish questions on its English texts are, and half of 20 on other subjects."""
RELEVANCE_THRESHOLD = 0.5
"""Relevance by a calibrated reranker below which a question is not in the book. Not measured: a
calibrated score of 0.5 is as likely relevant as not. `eval` suggests a value."""


@dataclass(frozen=True, slots=True)
class RefusalPolicy:
    """Maps answerability, from 0 to 1, to one of three answers."""

    refusal_threshold: float = REFUSAL_THRESHOLD
    """Below it: not in the book."""
    answer_threshold: float = ANSWER_THRESHOLD
    """At or above it: answered. Between the two: uncertain."""
    model: bool = False
    """Whether a model writes the answer. If so, a question in an unrecognised language is not
    refused by its score."""
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
        local model and BM25 do not match words across languages. A question is at most uncertain if
        the hits do not name what it is about.
        """
        if answerability < self.refusal_threshold and not other_language:
            return Confidence.NOT_IN_BOOK
        if answerability < self.answer_threshold or not named:
            return Confidence.UNCERTAIN
        return Confidence.ANSWERED


@dataclass(frozen=True, slots=True)
class Reading:
    """A wording of the question, as terms and a vector."""

    bounds: Mapping[int, float]
    """Term -> upper bound of its BM25 score."""
    vector: Vector
    """Normalised vector of the local model."""


def answerability(hits: Iterable[tuple[float, float, float]], covered: float) -> float:
    """Return the probability that hits answer the question, 0 to 1.

    Of each `paragraph`, from -1 to 1, `share` and `defined`, from 0 to 1, are given.
    """
    best = max((PARAGRAPH * p + SHARE * s + DEFINED * d for p, s, d in hits), default=0.0)
    return 1 / (1 + exp(-(best + COVERED * covered + BIAS)))


def covered_share(bounds: Mapping[int, float], hits: Iterable[ChunkTerms]) -> float:
    """Return the share of the question's terms, weighted by their bounds, that the hits have."""
    held = frozenset[int]().union(*(one.terms for one in hits))
    return sum(bounds[term] for term in bounds.keys() & held) / (sum(bounds.values()) or 1.0)


def defined_share(hit: ChunkTerms, bounds: Mapping[int, float]) -> float:
    """Return the largest share of the question that is one term defined in the hit."""
    asked = [form for form in hit.defined if bounds.keys() >= set(form)]
    best = max((sum(bounds[term] for term in {*form}) for form in asked), default=0.0)
    return share_of_bounds(best, bounds)


def share_of_bounds(score: float, bounds: Mapping[int, float]) -> float:
    """Return the BM25 score relative to its upper bound; `bounds` are those of each term."""
    most = sum(nlargest(RAREST, bounds.values()))
    return min(1.0, score / most) if most else 0.0
