"""Records the cost of a request: time by stage, billed units, price, failed steps.

The entry point of a request opens a `Recording`; later steps add to the current one, if any. It is
passed in a context variable, because most steps do not use it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from time import perf_counter

from app.domain.answer import Answer
from app.domain.cost import NOTHING, Units
from app.domain.errors import BudgetSpent, ProviderAuthError, ProviderError, RagError

_log = logging.getLogger(__name__)

REQUEST = "request"
"""The step of a failure that ended the whole request."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed, for the operator."""

    step: str
    """REQUEST, or as in `Answer.degraded`."""
    code: str
    """Stable name of the error."""
    status: int | None
    """The HTTP status that a provider sent."""
    reason: str
    """The message without the provider's text, which may quote the input."""


@dataclass(slots=True)
class Recording:
    """The record of one request; complete after the answer's last event or error."""

    request_id: str = ""
    began: float = field(default_factory=perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    """By stage, in the order in which they began. Stages do not overlap."""
    first_text_ms: float | None = None
    """Time until the first text of the answer."""
    answer: Answer | None = None
    units: Units = NOTHING
    """Billed by providers. Concurrent requests share a model's bill, so units may be assigned to
    the wrong one of them."""
    usd: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """Milliseconds since the request began."""
        return round((perf_counter() - self.began) * 1e3, 2)

    @property
    def failure(self) -> Failure | None:
        """The failure that ended the request; None if it was answered or refused."""
        return next((one for one in self.failures if one.step == REQUEST), None)

    def fields(self) -> dict[str, object]:
        """The measurements so far, for the log."""
        causes = [asdict(one) for one in dict.fromkeys(self.failures) if one.step != REQUEST]
        stages = {name: round(seconds * 1e3, 2) for name, seconds in self.seconds.items()}
        fields: dict[str, object] = {"ms": self.ms, "stages": stages}
        if self.first_text_ms is not None:
            fields["first_text_ms"] = self.first_text_ms
        if causes:
            fields["causes"] = causes
        if self.units != NOTHING:
            fields |= {**asdict(self.units), "usd": round(self.usd, 6)}
        return fields

    def failed(self, step: str, error: Exception) -> Failure:
        failure = Failure(step, RagError.code, None, type(error).__name__)
        if isinstance(error, ProviderError):
            failure = Failure(step, error.code, error.status, error.reason)
        elif isinstance(error, RagError):
            failure = Failure(step, error.code, None, str(error))
        self.failures.append(failure)
        return failure


_current: ContextVar[Recording] = ContextVar("recording")


def current() -> Recording:
    """Return the recording of the request that runs in this context.

    Outside a request, return a new one that is not kept.
    """
    return _current.get(None) or Recording()


@contextmanager
def recording(request_id: str = "") -> Iterator[Recording]:
    """Record the block, including tasks that it starts."""
    record = Recording(request_id)
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the duration of the block to a stage of the current recording.

    The block must not yield to a consumer, because the consumer's time would be included.
    """
    record, began = current(), perf_counter()
    try:
        yield
    finally:
        record.seconds[name] = record.seconds.get(name, 0.0) + perf_counter() - began


def degraded_by(step: str, error: ProviderError) -> str:
    """Log and record the failure of a step; return its entry of `degraded`.

    A refused key is logged as an error, since it is permanent; other failures as warnings. A spent
    budget is not logged here: `Budget` logs it once a day.
    """
    failure = current().failed(step, error)
    if isinstance(error, BudgetSpent):
        return "budget"
    level = logging.ERROR if isinstance(error, ProviderAuthError) else logging.WARNING
    _log.log(level, "step.failed", extra=asdict(failure))
    return step


def failed_step(step: str, code: str, reason: str) -> None:
    """Record a step that failed without raising an error."""
    current().failures.append(Failure(step, code, None, reason))


def billed(units: Units, usd: float) -> None:
    record = current()
    record.units += units
    record.usd += usd
