"""One result list out of the lists of several books."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.retrieval.query import ScoredId


def best(found: Iterable[ScoredId], limit: int) -> tuple[ScoredId, ...]:
    """By descending score; equal scores by book and chunk id, so that the order is stable."""
    ranked = sorted(found, key=lambda hit: (-hit.score, hit.book, hit.chunk_id))
    return tuple(ranked[:limit])
