"""`scripts/bench/compare.py`: the paired bootstrap."""

import pytest
from compare import paired_bootstrap


def test_a_steady_gain_is_significant_and_noise_is_not() -> None:
    gain = paired_bootstrap([0.2] * 100, [0.3] * 100)
    assert (gain.a, gain.b, gain.low, gain.high) == pytest.approx((0.2, 0.3, 0.1, 0.1))
    noise = paired_bootstrap([0.0, 1.0] * 50, [1.0, 0.0] * 50)
    assert noise.low < 0 < noise.high


def test_the_interval_has_the_width_theory_says() -> None:
    """For differences of 0 and 1 in equal parts the standard error is 0.5 / sqrt(n)."""
    found = paired_bootstrap([0.0] * 400, [0.0, 1.0] * 200)
    assert found.difference == pytest.approx(0.5)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.025, rel=0.1)
