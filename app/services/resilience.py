"""Circuit breakers and time limits.

With a circuit breaker (Nygard 2018, "Release It!", chapter 5), readers do not wait for the timeout
of a provider that is down. After a few consecutive failures the circuit opens: calls fail at once,
so search uses only BM25 and answers are extractive. Later calls are let through as trials: the
first one to end closes the circuit, or opens it again.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from app.domain.errors import ProviderError, ProviderRateLimited, ProviderUnavailable

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class CircuitBreaker:
    """Circuit breaker for the calls of one event loop to one endpoint; times in seconds.

    An unavailable provider is a failure. A refused input or key is a success, since the provider
    answered. Cancelled and rate-limited calls do not count.
    """

    name: str
    """Name of the endpoint, for log and errors."""
    failures: int = 3
    """Failures in a row that open the circuit: one or two are chance."""
    open_seconds: float = 30.0
    """About as long as a server takes to restart."""
    clock: Callable[[], float] = time.monotonic
    _failed: int = field(default=0, init=False)
    _open_until: float = field(default=-math.inf, init=False)
    _failure: ProviderUnavailable | None = field(default=None, init=False)

    @property
    def closed(self) -> bool:
        """Whether calls are made as usual: none is refused, and the next is no trial."""
        return self._failed < self.failures

    @property
    def fault(self) -> str:
        """The failure of the last call, or "" if it succeeded."""
        return self._failure.reason if self._failure else ""

    @contextmanager
    def call(self) -> Iterator[None]:
        """Raise ProviderUnavailable while the circuit is open; count how the block ends."""
        if (wait := self._open_until - self.clock()) > 0:
            message = f"{self.name} failed {self._failed} times in a row; calls are paused"
            status = self._failure.status if self._failure else None
            raise ProviderUnavailable(message, wait, status=status)
        try:
            yield
        except ProviderUnavailable as error:
            self._fail(error)
            raise
        except ProviderRateLimited:
            raise
        except ProviderError:
            self._succeed()
            raise
        else:
            self._succeed()

    def _fail(self, error: ProviderUnavailable) -> None:
        self._failed += 1
        self._failure = error
        # A call that began before the circuit opened does not extend the pause.
        if not self.closed and self._open_until <= self.clock():
            self._open_until = self.clock() + self.open_seconds
            fields = {"endpoint": self.name, "failures": self._failed, "seconds": self.open_seconds}
            _log.warning("provider.circuit_opened", extra=fields)

    def _succeed(self) -> None:
        if not self.closed:
            _log.warning("provider.circuit_closed", extra={"endpoint": self.name})
        self._failed, self._open_until, self._failure = 0, -math.inf, None


@asynccontextmanager
async def time_limit(
    seconds: float | None, what: str, deadline: float | None = None
) -> AsyncGenerator[asyncio.Timeout, None]:
    """Raise ProviderUnavailable, with `what`, if the block takes longer; None: no limit.

    A `deadline` of the event loop's clock, which `seconds` set, may be given instead.
    """
    if deadline is None and seconds is not None:
        deadline = asyncio.get_running_loop().time() + seconds
    try:
        async with asyncio.timeout_at(deadline) as limit:
            yield limit
    except TimeoutError as error:
        if limit.expired():
            raise ProviderUnavailable(f"{what} took longer than {seconds:g} s") from error
        raise
