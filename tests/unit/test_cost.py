"""What embedding takes: calls, minutes at the rate limits, money; and the limiter that waits."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.providers.cohere_embedder import RateLimiter
from app.domain.cost import Price, Tariff
from tests.provider_fakes import InstantClock

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


calls = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 900)), min_size=1, max_size=40)


def times_sent(limits: Tariff, wanted: list[tuple[int, int]]) -> list[float]:
    clock = InstantClock()
    limiter = RateLimiter(limits, clock.now, clock.sleep)

    async def sent(texts: int, tokens: int) -> float:
        await limiter.acquire(texts, tokens)
        return clock.now()

    async def send_all() -> list[float]:
        return [await sent(*one) for one in wanted]

    return asyncio.run(send_all())


@settings(max_examples=40)
@given(wanted=calls)
def test_no_minute_holds_more_than_the_limits(wanted: list[tuple[int, int]]) -> None:
    sent = times_sent(
        Tariff(calls_per_minute=6, texts_per_minute=50, tokens_per_minute=1_000), wanted
    )
    for end in sent:
        window = [one for one, at in zip(wanted, sent, strict=True) if end - 60 < at <= end]
        assert len(window) <= 6
        assert sum(inputs for inputs, _ in window) <= 50
        assert sum(tokens for _, tokens in window) <= 1_000


@settings(max_examples=40)
@given(wanted=calls)
def test_a_call_waits_only_while_the_last_minute_has_no_room_for_it(
    wanted: list[tuple[int, int]],
) -> None:
    """Half a second earlier (and the slack of 1.5 s aside) it would have been one too many."""
    sent = times_sent(Tariff(texts_per_minute=50), wanted)
    for order, at in enumerate(sent[1:], start=1):
        if at > sent[order - 1]:
            before = zip(wanted[:order], sent, strict=False)
            window = [inputs for (inputs, _), then in before if then > at - 0.5 - 61.5]
            assert sum(window) + wanted[order][0] > 50


def test_a_call_above_a_whole_minutes_limit_goes_alone_instead_of_never() -> None:
    limits = Tariff(tokens_per_minute=10)
    assert times_sent(limits, [(1, 5), (1, 99), (1, 5)]) == [0.0, 61.5, 123.0]
