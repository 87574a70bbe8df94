"""Fusion of dense and sparse result lists."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.book_id import BookId
from app.domain.retrieval.query import Candidates, ScoredId, fuse


def scored(**scores: float) -> tuple[ScoredId, ...]:
    return tuple(ScoredId(BookId("book"), chunk, score) for chunk, score in scores.items())


def ranking(candidates: Candidates) -> list[tuple[str, object]]:
    return [(one.chunk_id, pytest.approx(one.score)) for one in fuse(candidates)]


BOTH = Candidates(dense=scored(a=0.9, b=0.7, c=0.5), sparse=scored(c=20.0, a=10.0, d=5.0))


def test_weighted_is_minmax_of_dense_plus_share_of_the_best_sparse_score() -> None:
    assert ranking(BOTH) == [
        ("c", 0.7 * 1.0),
        ("a", 0.3 * 1.0 + 0.7 * 0.5),
        ("d", 0.7 * 0.25),
        ("b", 0.3 * 0.5),
    ]


def test_the_same_chunk_id_in_two_books_is_two_chunks() -> None:
    x, y = BookId("x"), BookId("y")
    candidates = Candidates(dense=(ScoredId(x, "1", 0.9), ScoredId(y, "1", 0.8)))
    assert [(one.book, one.chunk_id) for one in fuse(candidates)] == [("x", "1"), ("y", "1")]


_ids = st.sampled_from("abcdefgh")
_lists = st.dictionaries(_ids, st.floats(-1, 50, allow_nan=False), max_size=8).map(
    lambda found: tuple(sorted(scored(**found), key=lambda one: (-one.score, one.chunk_id)))
)


@given(_lists, _lists)
def test_every_candidate_appears_once_with_a_score_from_0_to_1_in_descending_order(
    dense: tuple[ScoredId, ...], sparse: tuple[ScoredId, ...]
) -> None:
    fused = fuse(Candidates(dense, sparse))
    ids = [one.chunk_id for one in fused]
    assert sorted(ids) == sorted({one.chunk_id for one in dense + sparse})
    assert all(math.isfinite(one.score) and -1e-9 <= one.score <= 1 + 1e-9 for one in fused)
    assert fused == sorted(fused, key=lambda one: (-one.score, one.chunk_id))  # ties by id
