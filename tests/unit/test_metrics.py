"""Retrieval metrics worked out by hand, and the threshold that shares of refusals suggest."""

from math import log2

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.answering.answerability import RefusalPolicy
from app.domain.document import union
from app.domain.evaluation.calibration import (
    BELOW_TOLERATED,
    REFUSED_TOLERATED,
    RefusalCurve,
    refusal_curve,
)
from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.evaluation.measurement import percentile
from app.domain.evaluation.metrics import MIN_OVERLAP, Retrieved, first_hit, retrieval_metrics


def question(*spans: tuple[int, int], gold_file: str = "") -> Question:
    gold = tuple(GoldSpan("a.md", start, end) for start, end in spans)
    return Question("q", "What?", "factual", True, gold=gold, gold_file=gold_file)


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


TWO, ALL = [(0, 100), (200, 300)], [(0, 100)]
LATE = [chunk((0, 100)), chunk((50, 150)), chunk((200, 300))]
SCORES = {
    "repeated text is in the denominator": (
        "precision", [(60, 90)], [chunk((0, 100)), chunk((50, 150))], 30 / 200,
    ),
    "overlapping golds count once": ("precision", [(0, 60), (40, 100)], [chunk((0, 100))], 1),
    "of several spans": ("precision", [(0, 300)], [chunk((0, 100), (200, 250))], 1),
    "all in one chunk": ("ndcg@10", TWO, [chunk((0, 300))], 1),
    "one was never found": ("ndcg@10", TWO, [chunk((0, 100))], 1 / IDEAL),
    "overlap earns nothing": ("ndcg@10", TWO, LATE, (1 + 1 / log2(4)) / IDEAL),
    "ten deep": ("ndcg@10", ALL, [*[ELSEWHERE] * 10, chunk((0, 100))], 0),
}  # fmt: skip


@pytest.mark.parametrize(("metric", "gold", "ranking", "score"), SCORES.values(), ids=SCORES)
def test_a_score_is_what_was_worked_out_by_hand(
    metric: str, gold: list[tuple[int, int]], ranking: list[Retrieved], score: float
) -> None:
    assert retrieval_metrics(question(*gold), ranking, 5)[metric] == pytest.approx(score)


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (0.0, 1.0), (1.0, 4.0)]
)
def test_percentile_is_the_nearest_rank(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


def curve(own: list[float], foreign: list[float]) -> RefusalCurve:
    found = refusal_curve(
        [*((True, score) for score in own), *((False, score) for score in foreign)],
        RefusalPolicy(0.4, 0.7),
    )
    assert found
    return found


def test_the_suggestion_parts_two_sorts_that_can_be_parted_half_way() -> None:
    found = curve([0.6, 0.8], [0.1, 0.3])
    assert found.suggested.threshold == pytest.approx(0.45)
    assert (found.suggested.recall, found.suggested.answerable_refused) == (1, 0)
    assert found.auroc == 1


@pytest.mark.parametrize(
    "judged",
    [[], [(True, 0.5)], [(False, 0.5)], [(True, None), (False, 0.2)]],
    ids=["nothing", "no unanswerable", "no answerable", "no score"],
)
def test_without_scores_of_both_sorts_there_is_no_curve(
    judged: list[tuple[bool, float | None]],
) -> None:
    assert refusal_curve(judged, RefusalPolicy()) is None


_scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(_scores, _scores)
@example([0.4, 0.6, 0.8, 1.0], [0.1, 0.4, 0.7])  # at the threshold is not below it
def test_the_curve_agrees_with_counting_and_no_threshold_beats_the_suggestion(
    own: list[float], foreign: list[float]
) -> None:
    found = curve(own, foreign)
    assert (found.current.threshold, found.current_answer.threshold) == (0.4, 0.7)
    for point in [found.current, found.current_answer, found.suggested]:
        wrong = [score for score in own if score < point.threshold]
        right = [score for score in foreign if score < point.threshold]
        assert point.recall == pytest.approx(len(right) / len(foreign))
        assert point.answerable_refused == pytest.approx(len(wrong) / len(own))
        if point.answerable_refused <= REFUSED_TOLERATED:
            assert point.recall <= found.suggested.recall
        if point.answerable_refused <= BELOW_TOLERATED:
            assert point.recall <= found.suggested_answer.recall
    pairs = [(mine > other) + 0.5 * (mine == other) for mine in own for other in foreign]
    assert found.auroc == pytest.approx(sum(pairs) / len(pairs))
    assert found.suggested.answerable_refused <= REFUSED_TOLERATED
    assert found.suggested_answer.answerable_refused <= BELOW_TOLERATED
