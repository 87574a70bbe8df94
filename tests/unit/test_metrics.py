"""Retrieval metrics against values worked out by hand, and their invariants."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.evaluation.retrieval_metrics import (
    MIN_OVERLAP,
    Retrieved,
    merge,
    recall,
    score_ranking,
)
from app.domain.percentile import percentile


def question(*spans: tuple[int, int], kind: str = "factual", gold_file: str = "") -> Question:
    gold = tuple(GoldSpan("a.md", start, end) for start, end in spans)
    return Question("q", "What?", kind, gold=gold, gold_file=gold_file)


def chunk(*spans: tuple[int, int], file: str = "a.md") -> Retrieved:
    return Retrieved(file, spans)


def test_recall_counts_characters_of_all_parts_covered_by_the_union_of_the_first_k() -> None:
    parts = question((0, 100), (200, 300))
    ranking = [chunk((50, 150)), chunk((40, 60)), chunk((200, 225)), chunk((0, 1000))]
    assert score_ranking(parts, ranking, 3).recall == pytest.approx((60 + 25) / 200)


@pytest.mark.parametrize("kind", ["term", "definition", "multi-turn", "multi-turn-partial"])
def test_where_any_gold_is_an_answer_recall_is_that_of_the_best_covered(kind: str) -> None:
    either = question((0, 100), (200, 300), kind=kind)
    assert score_ranking(either, [chunk((200, 280))], 5).recall == pytest.approx(0.8)


def test_a_chunk_of_another_file_finds_nothing() -> None:
    scores = score_ranking(question((0, 100)), [chunk((0, 100), file="b.md")], 5)
    assert (scores.recall, scores.first_hit, scores.ndcg, scores.precision) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("span", "found"),
    [((100 - MIN_OVERLAP, 900), True), ((101 - MIN_OVERLAP, 900), False), ((100, 900), False)],
)
def test_a_hit_needs_an_overlap_of_some_words(span: tuple[int, int], found: bool) -> None:
    assert bool(score_ranking(question((0, 100)), [chunk(span)], 5).first_hit) is found


def test_a_gold_shorter_than_the_least_overlap_must_be_wholly_there() -> None:
    assert score_ranking(question((10, 13)), [chunk((0, 13))], 5).first_hit == 1
    assert score_ranking(question((10, 13)), [chunk((0, 12))], 5).first_hit == 0


def test_hit_at_k_and_reciprocal_rank_follow_the_first_hit() -> None:
    scores = score_ranking(question((0, 100)), [chunk((500, 600)), chunk((0, 100))], 5)
    assert (scores.hit(1), scores.hit(2), scores.reciprocal_rank) == (0.0, 1.0, 0.5)


def test_precision_counts_repeated_characters_in_its_denominator() -> None:
    ranking = [chunk((0, 100)), chunk((50, 150))]
    scores = score_ranking(question((60, 90)), ranking, 5)
    assert scores.precision == pytest.approx(30 / 200)


def test_golds_that_overlap_are_not_counted_twice_in_precision() -> None:
    scores = score_ranking(question((0, 60), (40, 100)), [chunk((0, 100))], 5)
    assert scores.precision == pytest.approx(1.0)


def test_a_chunk_of_several_spans_covers_only_those() -> None:
    scores = score_ranking(question((0, 300)), [chunk((0, 100), (200, 250))], 5)
    assert scores.recall == pytest.approx(150 / 300)
    assert scores.precision == pytest.approx(1.0)


def test_by_gold_file_any_chunk_of_the_file_is_a_hit() -> None:
    by_file = question(gold_file="ch1/a.md")
    scores = score_ranking(by_file, [chunk((0, 9), file="b.md"), chunk((0, 9), file="ch1/a.md")], 5)
    assert (scores.recall, scores.first_hit) == (1.0, 2)
    assert scores.ndcg == pytest.approx(1 / log2(3))
    assert scores.precision is None


def test_a_gold_file_that_ends_with_a_slash_is_a_folder() -> None:
    in_folder = question(gold_file="ch1/")
    assert score_ranking(in_folder, [chunk((0, 9), file="ch1/a.md")], 5).first_hit == 1
    assert score_ranking(in_folder, [chunk((0, 9), file="ch10/a.md")], 5).first_hit == 0


def test_ndcg_earns_once_per_gold_so_that_overlap_does_not_pay() -> None:
    parts = question((0, 100), (200, 300))
    ranking = [chunk((0, 100)), chunk((50, 150)), chunk((200, 300))]
    ideal = 1 + 1 / log2(3)
    assert score_ranking(parts, ranking, 5).ndcg == pytest.approx((1 + 1 / log2(4)) / ideal)


def test_ndcg_is_1_when_one_chunk_holds_every_part() -> None:
    assert score_ranking(question((0, 100), (200, 300)), [chunk((0, 300))], 5).ndcg == 1.0


def test_ndcg_counts_a_part_that_was_never_found_against_the_ranking() -> None:
    scores = score_ranking(question((0, 100), (200, 300)), [chunk((0, 100))], 5)
    assert scores.ndcg == pytest.approx(1 / (1 + 1 / log2(3)))


def test_ndcg_looks_ten_deep() -> None:
    filler = [chunk((500, 600))] * 10
    assert score_ranking(question((0, 100)), [*filler, chunk((0, 100))], 5).ndcg == 0.0


def test_nothing_retrieved_scores_zero() -> None:
    scores = score_ranking(question((0, 100)), [], 5)
    assert (scores.recall, scores.first_hit, scores.ndcg) == (0, 0, 0)
    assert scores.precision == 0


_span = st.tuples(st.integers(0, 400), st.integers(1, 120)).map(lambda p: (p[0], p[0] + p[1]))
_chunks = st.lists(
    st.builds(
        Retrieved,
        file=st.sampled_from(["a.md", "b.md"]),
        spans=st.lists(_span, min_size=1, max_size=3).map(lambda spans: tuple(merge(spans))),
    ),
    max_size=12,
)
_questions = st.builds(
    lambda spans, kind: question(*spans, kind=kind),
    st.lists(_span, min_size=1, max_size=3),
    st.sampled_from(["factual", "term"]),
)


@given(_questions, _chunks)
def test_scores_stay_between_0_and_1(asked: Question, ranking: list[Retrieved]) -> None:
    scores = score_ranking(asked, ranking, 5)
    assert scores.precision is not None
    for value in (scores.recall, scores.ndcg, scores.precision):
        assert 0 <= value <= 1 + 1e-9


@given(_questions, _chunks)
def test_recall_agrees_with_counting_characters_one_by_one(
    asked: Question, ranking: list[Retrieved]
) -> None:
    seen = {
        position
        for one in ranking
        if one.file == "a.md"
        for start, end in one.spans
        for position in range(start, end)
    }
    covered = [len(seen & set(range(gold.start, gold.end))) for gold in asked.gold]
    lengths = [gold.end - gold.start for gold in asked.gold]
    expected = (
        max(part / length for part, length in zip(covered, lengths, strict=True))
        if asked.alternatives
        else sum(covered) / sum(lengths)
    )
    assert recall(asked, ranking) == pytest.approx(expected)


@given(_questions, _chunks, st.integers(1, 11))
def test_more_chunks_never_lower_recall(asked: Question, ranking: list[Retrieved], k: int) -> None:
    assert recall(asked, ranking[:k]) <= recall(asked, ranking[: k + 1]) + 1e-9


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (0.0, 1.0), (1.0, 4.0)]
)
def test_percentile_is_the_nearest_rank(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value
