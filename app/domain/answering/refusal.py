"""Does the book answer the question? One score from what retrieval found.

score = 1 / (1 + exp(-(DENSE * cosine + SPARSE * share + BIAS)))

`cosine` is the best hit's similarity. `share` is the best hit's BM25 score as a part of the most
that the question's `RAREST` rarest terms could give: low when what is asked for is not in the book
or not in one place. Weights: logistic regression on the dev sets, each book's own questions against
those of the other books (`scripts/bench/refusal.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import exp

from app.domain.retrieval.query import Hit

RAREST = 8
"""Terms of a long question that count: the rest is its setting, or code."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of one embedding model: cosines of two models do not compare."""

    dense: float
    sparse: float
    bias: float

    def score(self, cosine: float, share: float) -> float:
        return 1 / (1 + exp(-(self.dense * cosine + self.sparse * share + self.bias)))


LEXICAL = Calibration(dense=0.0, sparse=14.7, bias=-6.8)
"""For models that nothing is known of, and for searches whose embedding failed."""
_BY_MODEL = {"wordllama-l2-supercat-256": Calibration(dense=12.0, sparse=11.1, bias=-9.7)}

THRESHOLD = 0.4
"""Below it an extractive answer is refused: on the dev sets 94 % of the questions of other books
and 4 % of the book's own (`LEXICAL`: 91 and 5 %)."""
GENERATOR_THRESHOLD = 0.1
"""Below it a generator is not even asked (83 and 1 %); above it the generator reads and decides."""


def is_calibrated(model: str) -> bool:
    """Whether this embedding model's cosines are known well enough to refuse by."""
    return model in _BY_MODEL


def calibration_for(model: str) -> Calibration:
    return _BY_MODEL.get(model, LEXICAL)


@dataclass(frozen=True, slots=True)
class Evidence:
    """`cosine` is None when the search had no question vector; `share` goes from 0 to 1."""

    cosine: float | None
    share: float


def evidence(hits: Sequence[Hit], ceilings: Mapping[int, float]) -> Evidence:
    """`ceilings` maps each term of the question to the most it could add to a BM25 score."""
    most = sum(nlargest(RAREST, ceilings.values()))
    best = max((hit.sparse_score or 0.0 for hit in hits), default=0.0)
    cosines = [hit.dense_score for hit in hits if hit.dense_score is not None]
    return Evidence(max(cosines, default=None), min(1.0, best / most) if most else 0.0)


def answerability(found: Evidence, calibration: Calibration) -> float:
    """From 0 to 1, how likely it is that the hits answer the question."""
    if found.cosine is None:
        return LEXICAL.score(0.0, found.share)
    return calibration.score(found.cosine, found.share)
