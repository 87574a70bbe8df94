"""Retrieval metrics against values worked out by hand, and their invariants."""

from __future__ import annotations

from math import log2

import pytest

from app.domain.document import union
from app.domain.evaluation.measurement import GoldSpan, Question, percentile
from app.domain.evaluation.metrics import (
    MIN_OVERLAP,
    Retrieved,
    first_hit,
    retrieval_metrics,
)


def question(*spans: tuple[int, int], kind: str = "factual", gold_file: str = "") -> Question:
    gold = tuple(GoldSpan("a.md", start, end) for start, end in spans)
    return Question("q", "What?", kind, True, gold=gold, gold_file=gold_file)


def chunk(*spans: tuple[int, int], file: str = "a.md") -> Retrieved:
    return Retrieved(file, spans)


ELSEWHERE = chunk((500, 600))


@pytest.mark.parametrize(
    ("span", "found"),
    [((100 - MIN_OVERLAP, 900), True), ((101 - MIN_OVERLAP, 900), False), ((100, 900), False)],
)
def test_a_hit_needs_an_overlap_of_some_words(span: tuple[int, int], found: bool) -> None:
    assert bool(first_hit(question((0, 100)), [chunk(span)])) is found


def test_a_span_after_a_later_one_belongs_to_the_union() -> None:
    assert union([(0, 10), (20, 30), (12, 15)], gap=2) == ((0, 15), (20, 30))


def test_a_gold_shorter_than_the_least_overlap_must_be_wholly_there() -> None:
    assert first_hit(question((10, 13)), [chunk((0, 13))]) == 1
    assert first_hit(question((10, 13)), [chunk((0, 12))]) == 0


def test_hit_at_k_and_reciprocal_rank_follow_the_first_hit() -> None:
    scores = retrieval_metrics(question((0, 100)), [ELSEWHERE, chunk((0, 100))], 2)
    assert (scores["hit@1"], scores["hit@2"], scores["mrr"]) == (0.0, 1.0, 0.5)


def test_by_gold_file_any_chunk_of_the_file_is_a_hit() -> None:
    by_file = question(gold_file="ch1/a.md")
    ranking = [chunk((0, 9), file="b.md"), chunk((0, 9), file="ch1/a.md")]
    scores = retrieval_metrics(by_file, ranking, 5)
    assert (scores["recall@5"], scores["mrr"]) == (1.0, 0.5)
    assert scores["ndcg@10"] == pytest.approx(1 / log2(3))
    assert scores["precision"] is None


def test_a_gold_file_that_ends_with_a_slash_is_a_folder() -> None:
    in_folder = question(gold_file="ch1/")
    assert first_hit(in_folder, [chunk((0, 9), file="ch1/a.md")]) == 1
    assert first_hit(in_folder, [chunk((0, 9), file="ch10/a.md")]) == 0


IDEAL = 1 + 1 / log2(3)
"""The gain of two golds at the first two ranks."""


@pytest.mark.parametrize(
    ("metric", "gold", "ranking", "score"),
    [
        ("precision", [(60, 90)], [chunk((0, 100)), chunk((50, 150))], 30 / 200),
        ("precision", [(0, 60), (40, 100)], [chunk((0, 100))], 1),
        ("precision", [(0, 300)], [chunk((0, 100), (200, 250))], 1),
        ("ndcg@10", [(0, 100), (200, 300)], [chunk((0, 300))], 1),
        ("ndcg@10", [(0, 100), (200, 300)], [chunk((0, 100))], 1 / IDEAL),
        (
            "ndcg@10",
            [(0, 100), (200, 300)],
            [chunk((0, 100)), chunk((50, 150)), chunk((200, 300))],
            (1 + 1 / log2(4)) / IDEAL,
        ),
        ("ndcg@10", [(0, 100)], [*[ELSEWHERE] * 10, chunk((0, 100))], 0),
    ],
    ids=[
        "repeated text is in the denominator", "overlapping golds count once",
        "of several spans", "all in one chunk", "one was never found",
        "overlap earns nothing", "ten deep",
    ],
)  # fmt: skip
def test_a_score_is_what_was_worked_out_by_hand(
    metric: str, gold: list[tuple[int, int]], ranking: list[Retrieved], score: float
) -> None:
    assert retrieval_metrics(question(*gold), ranking, 5)[metric] == pytest.approx(score)


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (0.0, 1.0), (1.0, 4.0)]
)
def test_percentile_is_the_nearest_rank(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value
