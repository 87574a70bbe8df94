"""The limiter's promise: in no minute more than allowed, and no later than needed."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.providers.cohere_embedder import RateLimiter
from app.domain.cost import Tariff
from tests.provider_fakes import InstantClock

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
