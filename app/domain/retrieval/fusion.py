"""Fusion of the dense and the sparse result list into one ranking, by score or by rank.

All methods give scores from 0 to 1 and break ties by (book, chunk_id), so the order is
deterministic. If one list is empty, the other one has all the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import fsum, sqrt
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.retrieval.query import Candidates, ScoredId

_Key: TypeAlias = tuple[BookId, str]

DENSE_WEIGHT = 0.3
"""For the static local model; results on the development sets are flat from 0.2 to 0.4."""
RRF_K = 60
"""Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009."""


class Fusion(StrEnum):
    WEIGHTED = "weighted"
    """w * minmax(dense) + (1 - w) * sparse / max(sparse)."""
    RRF = "rrf"
    """w / (RRF_K + rank), ranks from 1, scaled so that rank 1 in every list gives 1."""
    DBSF = "dbsf"
    """Each list mapped from [mean - 3 sd, mean + 3 sd] to [0, 1], as in Qdrant; then weighted."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its fused score and its raw score in each list, None if absent."""

    book: BookId
    chunk_id: str
    score: float
    dense: float | None
    sparse: float | None


def fuse(
    candidates: Candidates, method: Fusion = Fusion.WEIGHTED, dense_weight: float = DENSE_WEIGHT
) -> list[Fused]:
    """Return the union of both lists by descending fused score; `dense_weight` is 0 to 1."""
    dense_share = _share(candidates, dense_weight)
    dense = _DENSE[method](candidates.dense)
    sparse = _SPARSE[method](candidates.sparse)
    raw_dense = {_key(found): found.score for found in candidates.dense}
    raw_sparse = {_key(found): found.score for found in candidates.sparse}
    fused = [
        Fused(
            book=key[0],
            chunk_id=key[1],
            score=dense_share * dense.get(key, 0.0) + (1 - dense_share) * sparse.get(key, 0.0),
            dense=raw_dense.get(key),
            sparse=raw_sparse.get(key),
        )
        for key in raw_dense | raw_sparse
    ]
    return sorted(fused, key=lambda found: (-found.score, found.book, found.chunk_id))


def _share(candidates: Candidates, dense_weight: float) -> float:
    if not candidates.dense:
        return 0.0
    return dense_weight if candidates.sparse else 1.0


def _key(found: ScoredId) -> _Key:
    return (found.book, found.chunk_id)


def _minmax(found: Sequence[ScoredId]) -> Mapping[_Key, float]:
    low = min((one.score for one in found), default=0.0)
    width = max((one.score for one in found), default=0.0) - low
    return {_key(one): (one.score - low) / width if width else 1.0 for one in found}


def _by_maximum(found: Sequence[ScoredId]) -> Mapping[_Key, float]:
    top = max((one.score for one in found), default=0.0)
    return {_key(one): max(0.0, one.score / top) if top > 0 else 0.0 for one in found}


def _reciprocal_rank(found: Sequence[ScoredId]) -> Mapping[_Key, float]:
    return {_key(one): (RRF_K + 1) / (RRF_K + rank) for rank, one in enumerate(found, 1)}


def _three_sigma(found: Sequence[ScoredId]) -> Mapping[_Key, float]:
    if len(found) < 2:
        return {_key(one): 0.5 for one in found}
    scores = [one.score for one in found]
    mean = fsum(scores) / len(scores)
    deviation = sqrt(fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1))
    if not deviation:
        return {_key(one): 0.5 for one in found}
    low, width = mean - 3 * deviation, 6 * deviation
    return {_key(one): min(1.0, max(0.0, (one.score - low) / width)) for one in found}


_Normalise: TypeAlias = Callable[[Sequence[ScoredId]], Mapping[_Key, float]]
_DENSE: Mapping[Fusion, _Normalise] = {
    Fusion.WEIGHTED: _minmax,
    Fusion.RRF: _reciprocal_rank,
    Fusion.DBSF: _three_sigma,
}
_SPARSE: Mapping[Fusion, _Normalise] = {**_DENSE, Fusion.WEIGHTED: _by_maximum}
