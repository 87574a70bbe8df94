"""Timeouts and circuit breakers round the providers: who waits how long for one that is dead."""

import asyncio
from contextlib import suppress

import pytest

import app.domain.errors as errors
from app.domain.cost import Units
from app.services.resilience import CircuitBreaker
from tests.provider_fakes import InstantClock, free_calls

DEAD = errors.ProviderUnavailable("no connection")


@pytest.fixture
def clock() -> InstantClock:
    return InstantClock()


@pytest.fixture
def breaker(clock: InstantClock) -> CircuitBreaker:
    return CircuitBreaker("the provider", failures=3, open_seconds=30, clock=clock.now)


def end_with(breaker: CircuitBreaker, error: BaseException | None = None) -> bool:
    """Make a call that ends so; return whether it was let through."""
    reached = False
    with suppress(errors.ProviderError, ValueError, asyncio.CancelledError), breaker.call():
        reached = True
        if error is not None:
            raise error
    return reached


def test_the_circuit_opens_after_failures_in_a_row(breaker: CircuitBreaker) -> None:
    assert [end_with(breaker, DEAD) for _ in range(5)] == [True, True, True, False, False]
    message = "the provider failed 3 times"
    with pytest.raises(errors.ProviderUnavailable, match=message) as raised, breaker.call():
        pytest.fail("an open circuit lets nothing through")
    assert raised.value.retry_after == 30


@pytest.mark.parametrize(
    ("error", "forgives"),
    [
        (errors.ProviderRateLimited("too many"), False),
        (asyncio.CancelledError(), False),
        (ValueError("a mistake of ours"), False),
        (errors.ProviderAuthError("wrong key"), True),
        (errors.ProviderRejected("too long"), True),
        (None, True),
    ],
)
def test_only_an_unavailable_provider_counts_as_a_failure(
    breaker: CircuitBreaker, error: BaseException | None, forgives: bool
) -> None:
    """A success or a refusal shows that somebody is there; the rest says nothing."""
    for step in (DEAD, DEAD, error, DEAD):
        assert end_with(breaker, step)
    assert end_with(breaker) == forgives


def test_a_trial_after_the_pause_decides(breaker: CircuitBreaker, clock: InstantClock) -> None:
    for _ in range(3):
        end_with(breaker, DEAD)
    clock.time += 29.9
    assert not end_with(breaker)
    clock.time += 0.1
    assert end_with(breaker, asyncio.CancelledError()), "which tells nothing"
    assert end_with(breaker, DEAD)
    assert not end_with(breaker)
    clock.time += 30
    assert end_with(breaker)
    assert breaker.closed


def test_a_late_failure_does_not_prolong_the_pause(
    breaker: CircuitBreaker, clock: InstantClock
) -> None:
    with suppress(errors.ProviderUnavailable), breaker.call():
        for _ in range(3):
            end_with(breaker, DEAD)
        clock.time += 20
        raise DEAD
    clock.time += 10
    assert end_with(breaker)


async def test_an_ingest_is_not_stopped_by_the_circuit_and_does_not_open_it(
    breaker: CircuitBreaker,
) -> None:
    async def ingest(error: errors.ProviderError | None = None) -> None:
        async with free_calls(breaker=breaker).call(Units()):
            if error:
                raise error

    for _ in range(5):
        with pytest.raises(errors.ProviderUnavailable):
            await ingest(DEAD)
    assert breaker.closed
    for _ in range(3):
        end_with(breaker, DEAD)
    assert not breaker.closed
    await ingest()
