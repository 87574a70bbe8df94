"""Timeouts and circuit breakers round the providers: who waits how long for one that is dead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import app.domain.errors as errors
from app.adapters.providers.openai_chat import OpenAIGenerator
from app.adapters.sqlite.spending import SqliteSpending
from app.domain.cost import Price, Units
from app.domain.generated_text.events import GeneratorEvent
from app.services.budget import Budget
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls
from app.services.resilience import CircuitBreaker
from tests.openai_double import completion, event
from tests.provider_fakes import free_calls, model_server

DEAD = errors.ProviderUnavailable("no connection")
LONG = 20.0
"""Seconds that no test waits."""
SHORT = 0.01


@dataclass
class Clock:
    time: float = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("the provider", failures=3, open_seconds=30, clock=clock)


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


def test_a_success_in_between_begins_the_count_anew(breaker: CircuitBreaker) -> None:
    for error in (DEAD, DEAD, None, DEAD, DEAD):
        assert end_with(breaker, error)
    assert end_with(breaker)


@pytest.mark.parametrize(
    ("error", "forgives"),
    [
        (errors.ProviderRateLimited("too many"), False),
        (asyncio.CancelledError(), False),
        (ValueError("a mistake of ours"), False),
        (errors.ProviderAuthError("wrong key"), True),
        (errors.ProviderRejected("too long"), True),
    ],
)
def test_only_an_unavailable_provider_counts_as_a_failure(
    breaker: CircuitBreaker, error: BaseException, forgives: bool
) -> None:
    """A refusal shows that somebody is there; the rest says nothing."""
    for step in (DEAD, DEAD, error, DEAD):
        assert end_with(breaker, step)
    assert end_with(breaker) == forgives


def test_a_trial_after_the_pause_decides(breaker: CircuitBreaker, clock: Clock) -> None:
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


def test_a_late_failure_does_not_prolong_the_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    with suppress(errors.ProviderUnavailable), breaker.call():
        for _ in range(3):
            end_with(breaker, DEAD)
        clock.time += 20
        raise DEAD
    clock.time += 10
    assert end_with(breaker)


async def hang() -> None:
    await asyncio.Event().wait()


async def use(provider: ProviderCalls, work: Awaitable[None], seconds: float = SHORT) -> None:
    async with provider.call(Units(), seconds):
        await work


async def test_a_provider_that_hangs_is_left_alone_after_a_few_calls(
    breaker: CircuitBreaker,
) -> None:
    provider, reached = free_calls(breaker=breaker), 0

    async def silence() -> None:
        nonlocal reached
        reached += 1
        await hang()

    for _ in range(5):
        work = silence()
        with pytest.raises(errors.ProviderUnavailable):
            await use(provider, work)
        work.close()
    assert reached == 3


async def test_a_spent_budget_does_not_open_the_circuit(
    tmp_path: Path, breaker: CircuitBreaker
) -> None:
    budget = Budget(SqliteSpending(tmp_path / "spending.sqlite"), {"day": 0.0})
    provider = ProviderCalls("llama", budget, Price(1.0), breaker)

    for _ in range(5):
        with pytest.raises(errors.BudgetSpent):
            async with provider.call(Units(1), LONG):
                pytest.fail("what the budget does not allow is not called")
    assert breaker.closed


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
    assert end_with(breaker, DEAD)
    for _ in range(2):
        end_with(breaker, DEAD)
    assert not breaker.closed
    await ingest()


@dataclass
class Script(httpx.AsyncByteStream):
    """A model server's answer, playing `steps`: text, a broken connection, silence at None."""

    steps: Sequence[str | Exception | None] = ()
    calls: int = 0
    closed: int = 0

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        self.calls += 1
        for step in self.steps:
            if isinstance(step, Exception):
                raise step
            if step is None:
                await hang()
            else:
                yield step.encode()

    async def aclose(self) -> None:
        self.closed += 1

    def answer(
        self, breaker: CircuitBreaker, seconds: float = LONG
    ) -> AsyncGenerator[GeneratorEvent, None]:
        serve = httpx.MockTransport(lambda _: httpx.Response(200, stream=self))
        server = model_server(httpx.AsyncClient(transport=serve, base_url="http://model.example"))
        calls = free_calls(breaker=breaker)
        model = OpenAIGenerator(server, calls, calls)
        model.first_seconds, model.chunk_seconds = seconds, LONG
        return model.generate(GenerationRequest("Why?", (), ()))


TEXT = event("Because.")
END = "".join(completion())
BREAK = httpx.ReadError("connection reset")


async def ask(
    breaker: CircuitBreaker, script: Script, seconds: float = LONG, most: int = 10
) -> list[GeneratorEvent]:
    """Return the events of an answer, of which a reader takes `most`."""
    taken: list[GeneratorEvent] = []
    async with aclosing(script.answer(breaker, seconds)) as events:
        async for one in events:
            taken.append(one)
            if len(taken) == most:
                break
    return taken


@pytest.mark.parametrize("steps", [[None], [BREAK], [TEXT, BREAK]])
async def test_a_dead_model_is_left_alone_after_a_few_answers(
    breaker: CircuitBreaker, steps: list[str | Exception | None]
) -> None:
    script = Script(steps)
    for _ in range(5):
        with pytest.raises(errors.ProviderUnavailable):
            await ask(breaker, script, SHORT)
    assert (script.calls, script.closed) == (3, 3)
