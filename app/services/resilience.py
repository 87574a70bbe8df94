"""Time limits and circuit breakers for calls to providers, as wrappers over the ports.

With a circuit breaker (Nygard 2018, "Release It!", chapter 5), readers do not wait for the timeout
of a provider that is down. After a few consecutive failures the circuit opens: calls fail at once,
so search uses only BM25 and answers are extractive. Later one call is let through as a trial; if it
succeeds, the circuit closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from cachetools import LRUCache

from app.domain.answer import AnswerMode
from app.domain.errors import ProviderError, ProviderRateLimited, ProviderUnavailable
from app.domain.retrieval.query import Turn, Vector
from app.services.generators import GeneratedEnd, GenerationRequest, Generator, GeneratorEvent
from app.services.ports import QuestionEmbedder, QuestionRewriter, Reranker
from app.services.provider_failures import require_vector
from app.services.recording import looked_up

_log = logging.getLogger(__name__)

T = TypeVar("T")


CACHED_QUESTIONS = 1_000
"""Vectors of questions in the cache: about 6 MB at 1,536 dimensions."""

BREAKER_STATES = ("closed", "half_open", "open")


@dataclass(slots=True)
class CircuitBreaker:
    """Circuit breaker for the calls of one event loop to one endpoint; times in seconds.

    An unavailable provider is a failure. A refused input or key is a success, since the provider
    answered. Cancelled and rate-limited calls do not count.
    """

    name: str
    """Name of the endpoint, for log and errors."""
    failures: int
    """Failures in a row that open the circuit."""
    open_seconds: float
    clock: Callable[[], float]
    _failed: int = field(default=0, init=False)
    _open_until: float | None = field(default=None, init=False)
    _trying: bool = field(default=False, init=False)
    _failure: ProviderUnavailable | None = field(default=None, init=False)

    @property
    def state(self) -> str:
        """One of BREAKER_STATES; half open: the next call is the trial, or it is under way."""
        if self._open_until is None:
            return "closed"
        return "open" if self._open_until > self.clock() else "half_open"

    @property
    def fault(self) -> str:
        """The failure of the last call, or "" if it succeeded."""
        return self._failure.reason if self._failure else ""

    @contextmanager
    def call(self) -> Iterator[None]:
        """Raise ProviderUnavailable while the circuit is open; count how the block ends."""
        trial = self._admit()
        try:
            yield
        except ProviderUnavailable as error:
            self._fail(trial, error)
            raise
        except ProviderRateLimited:
            raise
        except ProviderError:
            self._succeed()
            raise
        else:
            self._succeed()
        finally:
            self._trying = self._trying and not trial

    def _admit(self) -> bool:
        """Return whether the call is the trial."""
        if self._open_until is None:
            return False
        wait = self._open_until - self.clock()
        if wait > 0 or self._trying:
            message = f"{self.name} failed {self._failed} times in a row; calls are paused"
            status = self._failure.status if self._failure else None
            raise ProviderUnavailable(message, max(wait, 0.0) or None, status=status)
        self._trying = True
        return True

    def _fail(self, trial: bool, error: ProviderUnavailable) -> None:
        self._failed += 1
        self._failure = error
        # A call that began before the circuit opened does not extend the pause.
        if trial or (self._open_until is None and self._failed >= self.failures):
            self._open_until = self.clock() + self.open_seconds
            fields = {"endpoint": self.name, "failures": self._failed, "seconds": self.open_seconds}
            _log.warning("provider.circuit_opened", extra=fields)

    def _succeed(self) -> None:
        if self._open_until is not None:
            _log.warning("provider.circuit_closed", extra={"endpoint": self.name})
        self._failed = 0
        self._failure = None
        self._open_until = None


async def in_time(work: Awaitable[T], seconds: float, what: str) -> T:
    """Return the result of `work`. ProviderUnavailable, with `what`, if it takes longer."""
    async with _until(_now() + seconds, seconds, what):
        return await work


async def stream_with_deadline(
    events: AsyncGenerator[T, None], seconds: float, what: str
) -> AsyncGenerator[T, None]:
    """Yield the events. ProviderUnavailable if they do not end within `seconds`.

    The time that the consumer takes counts as well.
    """
    deadline = _now() + seconds
    async with aclosing(events):
        while True:
            async with _until(deadline, seconds, what):
                event = await anext(events, None)
            if event is None:
                return
            yield event


@asynccontextmanager
async def _until(deadline: float, seconds: float, what: str) -> AsyncGenerator[None, None]:
    """Raise ProviderUnavailable if the block does not end by the deadline, which `seconds` set."""
    try:
        async with asyncio.timeout_at(deadline) as limit:
            yield
    except TimeoutError as error:
        if limit.expired():
            message = f"{what} took longer than {seconds:g} s"
            raise ProviderUnavailable(message) from error
        raise


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class GuardedEmbedder:
    """A `QuestionEmbedder` with a time limit and a circuit breaker; an ingest has neither.

    Vectors of recent questions are cached, since a class often asks the same ones: a cached
    question is answered while the circuit is open, and does not count as a success.
    """

    embedder: QuestionEmbedder
    breaker: CircuitBreaker
    seconds: float
    _vectors: LRUCache[str, Vector] = field(
        default_factory=lambda: LRUCache(CACHED_QUESTIONS), init=False, compare=False, repr=False
    )

    @property
    def model(self) -> str:
        return self.embedder.model

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    async def embed_query(self, text: str) -> Vector:
        known = self._vectors.get(text)
        looked_up("question_vectors", hit=known is not None)
        if known is not None:
            return known
        with self.breaker.call():
            work = self.embedder.embed_query(text)
            vector = await in_time(work, self.seconds, self.breaker.name)
        require_vector(vector, self.model, self.dimension, "a question")
        self._vectors[text] = vector
        return vector


@dataclass(frozen=True, slots=True)
class GuardedReranker:
    """A `Reranker` with a time limit and a circuit breaker."""

    reranker: Reranker
    breaker: CircuitBreaker
    seconds: float

    async def rerank(
        self, question: str, texts: Sequence[str], top_n: int
    ) -> list[tuple[int, float]]:
        with self.breaker.call():
            work = self.reranker.rerank(question, texts, top_n)
            return await in_time(work, self.seconds, self.breaker.name)


@dataclass(frozen=True, slots=True)
class GuardedRewriter:
    """A `QuestionRewriter` with a time limit and a circuit breaker."""

    rewriter: QuestionRewriter
    breaker: CircuitBreaker
    """Not that of the generator: a model too slow for rewriting may still write answers."""
    seconds: float

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        with self.breaker.call():
            work = self.rewriter.rewrite(question, history)
            return await in_time(work, self.seconds, self.breaker.name)


@dataclass(frozen=True, slots=True)
class GuardedGenerator:
    """A `Generator` with a time limit on its first event; the adapter limits the rest."""

    mode = AnswerMode.GENERATED
    generator: Generator
    breaker: CircuitBreaker
    first_seconds: float
    """Limit until the first event."""

    @property
    def model(self) -> str:
        return self.generator.model

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        with self.breaker.call():
            async with aclosing(self.generator.generate(request)) as events:
                first = anext(events, None)
                event = await in_time(first, self.first_seconds, self.breaker.name)
                while event is not None and not isinstance(event, GeneratedEnd):
                    yield event
                    event = await anext(events, None)
        # Outside the block: the consumer may close this stream after its last event, which the
        # breaker would treat as a cancelled call.
        if event is not None:
            yield event


GUARDED = (GuardedEmbedder, GuardedReranker, GuardedRewriter, GuardedGenerator)
