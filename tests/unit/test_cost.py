"""What embedding takes: calls, minutes at the rate limits, money."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.cost import Price, Tariff

TRIAL = Tariff(96, 9_000, None, 100, 2_000, 100_000, Price(0.12))


@pytest.mark.parametrize(
    ("counts", "batches", "minutes"),
    [
        ([], 0, 0.0),
        ([10] * 96, 1, 96 / 2_000),
        ([10] * 97, 2, 97 / 2_000),
        ([10] * 4_000, 42, 2.0),
        ([400] * 5_000, 228, 20.0),
        ([9_000] * 50, 50, 4.5),
    ],
    ids=["nothing", "one call", "a text more", "inputs", "tokens", "long texts"],
)
def test_the_tightest_limit_decides_the_minutes(
    counts: list[int], batches: int, minutes: float
) -> None:
    assert len(list(TRIAL.batches(counts))) == batches
    assert TRIAL.minutes(counts) == pytest.approx(minutes)
    assert TRIAL.usd(counts) == pytest.approx(sum(counts) * 0.12 / 1e6)


def test_a_model_in_this_process_costs_nothing_and_an_unknown_price_is_not_guessed() -> None:
    free, counts = Tariff(), [500] * 10_000
    assert (len(list(free.batches(counts))), free.minutes(counts), free.usd(counts)) == (1, 0, 0)
    assert Tariff(price=None).usd(counts) is None


@given(
    st.lists(st.integers(0, 30), max_size=40),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 20),
)
def test_batches_take_every_text_once_in_order_within_the_limits(
    counts: list[int], texts: int | None, tokens: int | None
) -> None:
    spans = list(Tariff(texts, tokens).batches(counts))
    assert [place for start, end in spans for place in range(start, end)] == [*range(len(counts))]
    for start, end in spans:
        assert texts is None or end - start <= texts
        assert tokens is None or end - start == 1 or sum(counts[start:end]) <= tokens
