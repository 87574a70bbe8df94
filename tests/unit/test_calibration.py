"""Shares of refusals over thresholds, and the threshold that is suggested."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.answering.answerability import RefusalPolicy
from app.domain.evaluation.measurement import (
    BELOW_TOLERATED,
    REFUSED_TOLERATED,
    RefusalCurve,
    refusal_curve,
)


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
