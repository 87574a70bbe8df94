"""Timeouts and circuit breakers round the providers: who waits how long for one that is dead."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

import app.domain.errors as errors
from app.domain.answer import AnswerMode, Usage
from app.domain.retrieval.query import SearchQuery, Turn, Vector
from app.services.generators import GeneratedEnd, GeneratedText, GenerationRequest, GeneratorEvent
from app.services.ports import QuestionEmbedder
from app.services.resilience import (
    CACHED_QUESTIONS,
    CircuitBreaker,
    GuardedEmbedder,
    GuardedGenerator,
    GuardedReranker,
    GuardedRewriter,
    in_time,
    stream_with_deadline,
)
from app.services.retrieve import Retrieve
from tests.answer_fakes import generation_request
from tests.retrieval_fakes import (
    FakeEmbedder,
    FakeIndex,
    FakeReranker,
    FakeSparse,
    make_chunk,
    retrieving,
)

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


def test_one_trial_after_the_pause_decides(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        end_with(breaker, DEAD)
    clock.time += 29.9
    assert not end_with(breaker)
    clock.time += 0.1
    with suppress(errors.ProviderUnavailable), breaker.call():
        assert not end_with(breaker), "while one tries, the others go without"
        raise DEAD
    clock.time += 29.9
    assert not end_with(breaker)
    clock.time += 0.1
    assert end_with(breaker)
    assert end_with(breaker, DEAD)
    assert end_with(breaker)


@pytest.mark.parametrize("error", [asyncio.CancelledError(), errors.ProviderRateLimited("busy")])
def test_a_trial_that_tells_nothing_is_followed_by_another(
    breaker: CircuitBreaker, clock: Clock, error: BaseException
) -> None:
    for _ in range(3):
        end_with(breaker, DEAD)
    clock.time += 30
    assert end_with(breaker, error)
    assert end_with(breaker)


def test_a_late_failure_does_not_prolong_the_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    with suppress(errors.ProviderUnavailable), breaker.call():
        for _ in range(3):
            end_with(breaker, DEAD)
        clock.time += 20
        raise DEAD
    clock.time += 10
    assert end_with(breaker)


# --- time limits --------------------------------------------------------------------------------


async def hang() -> None:
    await asyncio.Event().wait()


async def fail_with(error: Exception) -> None:
    raise error


def test_work_that_takes_too_long_is_unavailable() -> None:
    with pytest.raises(errors.ProviderUnavailable, match=r"the answer took longer than 0\.01 s"):
        asyncio.run(in_time(hang(), SHORT, "the answer"))


def test_a_timeout_inside_the_work_is_its_own() -> None:
    with pytest.raises(TimeoutError, match="of another"):
        asyncio.run(in_time(fail_with(TimeoutError("of another")), LONG, "the answer"))


@dataclass
class Stream:
    """Numbers up to `count`, then silence if it `hangs`; remembers whether it was closed."""

    count: int
    hangs: bool = False
    closed: bool = False

    async def events(self) -> AsyncGenerator[int, None]:
        try:
            for number in range(self.count):
                yield number
            if self.hangs:
                await hang()
        finally:
            self.closed = True


async def collect(events: AsyncIterator[int], into: list[int]) -> None:
    async for event in events:
        into += [event]


def test_events_in_time_come_as_they_are() -> None:
    stream, got = Stream(3), list[int]()
    asyncio.run(collect(stream_with_deadline(stream.events(), LONG, "the answer"), got))
    assert got == [0, 1, 2]
    assert stream.closed


def test_events_that_stay_out_are_unavailable_and_their_source_is_closed() -> None:
    stream, got = Stream(2, hangs=True), list[int]()
    with pytest.raises(errors.ProviderUnavailable, match="the answer took longer"):
        asyncio.run(collect(stream_with_deadline(stream.events(), SHORT, "the answer"), got))
    assert got == [0, 1]
    assert stream.closed


# --- the ports ----------------------------------------------------------------------------------


class HangingEmbedder(FakeEmbedder):
    asked: int = 0

    async def embed_query(self, text: str) -> Vector:
        self.asked += 1
        await hang()
        return array("f")


def search_with(embedder: QuestionEmbedder, reranker: GuardedReranker | None = None) -> Retrieve:
    index = FakeIndex([make_chunk("owls fly silently")])
    return retrieving(embedder, FakeSparse(), index, reranker, count_tokens=len)


def degraded(retrieve: Retrieve) -> tuple[str, ...]:
    result = asyncio.run(retrieve.search(SearchQuery("silently owls")))
    assert len(result.hits) == 1
    return result.degraded


def test_a_dead_embedder_costs_a_few_questions_its_timeout_and_no_answer(
    breaker: CircuitBreaker,
) -> None:
    embedder = HangingEmbedder()
    retrieve = search_with(GuardedEmbedder(embedder, breaker, SHORT))
    for _ in range(5):
        assert degraded(retrieve) == ("embedding",)
    assert embedder.asked == 3


class CountingEmbedder(FakeEmbedder):
    """Remembers what it was asked; dead once `error` is set."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        return await super().embed_query(text)


def test_of_the_latest_questions_none_is_embedded_twice(breaker: CircuitBreaker) -> None:
    embedder = CountingEmbedder()
    guarded = GuardedEmbedder(embedder, breaker, LONG)
    others = [f"cat {number}" for number in range(CACHED_QUESTIONS - 1)]  # they evict "bat"

    async def ask() -> None:
        for text in ("owl", "bat", "owl", *others, "owl", "bat"):
            fresh = await FakeEmbedder().embed_query(text)
            assert await guarded.embed_query(text) == fresh

    asyncio.run(ask())
    assert embedder.asked == ["owl", "bat", *others, "bat"]


def test_a_vector_that_cannot_be_searched_with_is_not_remembered(breaker: CircuitBreaker) -> None:
    class Zeros(CountingEmbedder):
        async def embed_query(self, text: str) -> Vector:
            self.asked.append(text)
            return array("f", bytes(4 * self.dimension))

    embedder = Zeros()
    guarded = GuardedEmbedder(embedder, breaker, LONG)
    for _ in range(2):
        with pytest.raises(errors.ProviderError, match="for a question a vector of zeros"):
            asyncio.run(guarded.embed_query("owl"))
    assert embedder.asked == ["owl", "owl"]


def test_a_remembered_question_says_nothing_of_a_dead_provider(breaker: CircuitBreaker) -> None:
    embedder = CountingEmbedder()
    guarded = GuardedEmbedder(embedder, breaker, LONG)
    known = asyncio.run(guarded.embed_query("known"))
    embedder.error = DEAD
    for at in range(5):
        with pytest.raises(errors.ProviderUnavailable):
            asyncio.run(guarded.embed_query(f"new {at}"))
        assert asyncio.run(guarded.embed_query("known")) == known
    assert embedder.asked == ["known", "new 0", "new 1", "new 2"]


def test_a_dead_reranker_leaves_the_order_of_the_search(breaker: CircuitBreaker) -> None:
    reranker = FakeReranker(hangs=True)
    guarded = GuardedReranker(reranker, breaker, SHORT)
    retrieve = search_with(GuardedEmbedder(FakeEmbedder(), breaker, LONG), guarded)
    assert degraded(retrieve) == ("rerank",)


@dataclass
class HangingRewriter:
    asked: int = 0

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        self.asked += 1
        await hang()
        return question


def test_a_model_too_slow_for_questions_costs_a_few_of_them_its_timeout(
    breaker: CircuitBreaker,
) -> None:
    rewriter = HangingRewriter()
    guarded = GuardedRewriter(rewriter, breaker, SHORT)
    retrieve = search_with(FakeEmbedder())
    retrieve = replace(retrieve, analysis=replace(retrieve.analysis, rewriter=guarded))
    query = SearchQuery("and silently?", history=(Turn("user", "How do owls fly?"),))
    for _ in range(5):
        result = asyncio.run(retrieve.search(query))
        assert (len(result.hits), result.degraded) == (1, ("rewrite",))
    assert rewriter.asked == 3


def test_a_guarded_embedder_names_its_model(breaker: CircuitBreaker) -> None:
    guarded = GuardedEmbedder(FakeEmbedder(), breaker, SHORT)
    assert (guarded.model, guarded.dimension) == ("fake", FakeEmbedder.dimension)


@dataclass
class Script:
    """A generator that plays `steps`: raises errors, hangs at a None; counts its calls."""

    steps: Sequence[GeneratorEvent | Exception | None] = ()
    calls: int = 0
    closed: int = 0
    model: str = "script"
    mode: AnswerMode = AnswerMode.GENERATED
    questions: list[str] = field(default_factory=list)

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        self.calls += 1
        self.questions.append(request.question)
        try:
            for step in self.steps:
                if isinstance(step, Exception):
                    raise step
                if step is None:
                    await hang()
                else:
                    yield step
        finally:
            self.closed += 1


TEXT = GeneratedText("Because.")
END = GeneratedEnd(Usage(), "COMPLETE")


async def ask(generator: GuardedGenerator, most: int = 10) -> list[GeneratorEvent]:
    """Return the events of an answer, of which a reader takes `most`."""
    taken: list[GeneratorEvent] = []
    events = generator.generate(generation_request("Why?", (), ()))
    async for event in events:
        taken.append(event)
        if len(taken) == most:
            break
    await events.aclose()
    return taken


def test_a_generator_in_time_is_passed_on_as_it_is(breaker: CircuitBreaker) -> None:
    script = Script([TEXT, END])
    guarded = GuardedGenerator(script, breaker, LONG)
    assert asyncio.run(ask(guarded)) == [TEXT, END]
    assert (guarded.model, script.questions, script.closed) == ("script", ["Why?"], 1)


def test_an_answer_that_came_to_its_end_is_a_success(breaker: CircuitBreaker) -> None:
    """Also when the reader of its events stops there, as the use case does."""
    for _ in range(3):
        for _ in range(2):
            end_with(breaker, DEAD)
        assert asyncio.run(ask(GuardedGenerator(Script([TEXT, END]), breaker, LONG), most=2))
    assert end_with(breaker)


def test_a_generator_without_events_stays_without(breaker: CircuitBreaker) -> None:
    assert asyncio.run(ask(GuardedGenerator(Script(), breaker, LONG))) == []


@pytest.mark.parametrize("steps", [[None], [DEAD], [TEXT, DEAD]])
def test_a_dead_generator_is_left_alone_after_a_few_answers(
    breaker: CircuitBreaker, steps: list[GeneratorEvent | Exception | None]
) -> None:
    script = Script(steps)
    for _ in range(5):
        with pytest.raises(errors.ProviderUnavailable):
            asyncio.run(ask(GuardedGenerator(script, breaker, SHORT)))
    assert (script.calls, script.closed) == (3, 3)


def test_the_time_limit_is_for_the_first_event_only(breaker: CircuitBreaker) -> None:
    async def scenario() -> None:
        events = GuardedGenerator(Script([TEXT, None]), breaker, SHORT).generate(
            generation_request("Why?", (), ())
        )
        assert await anext(events) == TEXT
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10 * SHORT):
                await anext(events)

    asyncio.run(scenario())


def test_a_reader_who_leaves_closes_the_generator_and_is_no_failure(
    breaker: CircuitBreaker,
) -> None:
    script = Script([TEXT, TEXT, END])
    for _ in range(5):
        assert asyncio.run(ask(GuardedGenerator(script, breaker, LONG), most=1)) == [TEXT]
    assert (script.calls, script.closed) == (5, 5)
