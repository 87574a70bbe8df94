"""The limiter's promise: in no minute more than allowed, in order, and no later than needed."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.cost import RateLimits
from app.services.rate_limiter import RateLimiter
from tests.cohere_world import InstantClock

calls = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 900)), min_size=1, max_size=40)


async def send_all(
    limiter: RateLimiter, clock: InstantClock, wanted: list[tuple[int, int]]
) -> list[tuple[int, float]]:
    """Ask for all at once; return (position, time) in the order of sending."""
    sent: list[tuple[int, float]] = []

    async def one(position: int, inputs: int, tokens: int) -> None:
        await limiter.acquire(inputs, tokens)
        sent.append((position, clock.now()))

    await asyncio.gather(*(one(position, *item) for position, item in enumerate(wanted)))
    return sent


@settings(max_examples=40, deadline=None)
@given(wanted=calls)
def test_no_minute_holds_more_than_the_limits_and_nobody_overtakes(
    wanted: list[tuple[int, int]],
) -> None:
    limits = RateLimits(calls_per_minute=6, inputs_per_minute=50, tokens_per_minute=1_000)
    clock = InstantClock()
    limiter = RateLimiter(limits, clock=clock.now, sleep=clock.sleep)
    sent = asyncio.run(send_all(limiter, clock, wanted))
    assert [position for position, _ in sent] == list(range(len(wanted)))
    for _, end in sent:
        window = [wanted[position] for position, at in sent if end - 60 < at <= end]
        assert len(window) <= 6
        assert sum(inputs for inputs, _ in window) <= 50
        assert sum(tokens for _, tokens in window) <= 1_000


@settings(max_examples=40, deadline=None)
@given(wanted=calls)
def test_a_call_waits_only_while_the_last_minute_has_no_room_for_it(
    wanted: list[tuple[int, int]],
) -> None:
    """Half a second earlier (and the slack of 1.5 s aside) it would have been one too many."""
    clock = InstantClock()
    limiter = RateLimiter(RateLimits(inputs_per_minute=50), clock=clock.now, sleep=clock.sleep)
    sent = asyncio.run(send_all(limiter, clock, wanted))
    for order, (position, at) in enumerate(sent[1:], start=1):
        if at > sent[order - 1][1]:
            earlier = at - 0.5
            window = [wanted[other][0] for other, then in sent[:order] if then > earlier - 61.5]
            assert sum(window) + wanted[position][0] > 50


async def test_a_call_above_a_whole_minutes_limit_goes_alone_instead_of_never() -> None:
    clock = InstantClock()
    limiter = RateLimiter(RateLimits(tokens_per_minute=10), clock=clock.now, sleep=clock.sleep)
    sent = await send_all(limiter, clock, [(1, 5), (1, 99), (1, 5)])
    assert [at for _, at in sent] == [0.0, 61.5, 123.0]


async def test_the_bill_replaces_the_estimate() -> None:
    clock = InstantClock()
    limiter = RateLimiter(RateLimits(tokens_per_minute=100), clock=clock.now, sleep=clock.sleep)

    slot = await limiter.acquire(tokens=100)
    slot.tokens = 40
    await limiter.acquire(tokens=60)
    assert clock.now() == 0.0
