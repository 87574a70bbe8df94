"""Configures the log of the process: JSON lines on a server, readable lines on a terminal.

Modules log with the standard library: an event's name as message, its fields in `extra`. Every line
has `time`, `level`, `event` and `request_id`, which is empty outside a request.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from traceback import TracebackException
from typing import TYPE_CHECKING, Any, TextIO

from cachetools import LRUCache
from pydantic import SecretStr

from app.domain.errors import RagError
from app.domain.printable import printable
from app.services.recording import current
from app.settings import Settings

if TYPE_CHECKING:
    from structlog.types import EventDict, Processor

_MAX_EVENTS = 1_000
_FIRST = ("time", "level", "event", "request_id")
_OF_OTHER_HANDLERS = ("message", "asctime")
"""Attributes that formatters of other handlers add to a record."""
_MASK = "***"
_MIN_SECRET = 8
"""Minimum characters of a masked secret: a shorter one may be part of a common word."""


class OncePerSecond(logging.Filter):
    """Passes one record per event and second; the next one has the number of dropped records.

    An outage or attack can repeat an error thousands of times a second, which would fill the disk.
    By default the limit applies to warnings and errors; the field `once_a_second` of a record turns
    it on or off. An event is identified by logger, level, message, field `code` and exception
    class.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        super().__init__()
        self._clock = clock
        self._seen: LRUCache[tuple[object, ...], tuple[float, int]] = LRUCache(_MAX_EVENTS)
        """Event -> (time of the last record passed, number dropped since)."""

    def filter(self, record: logging.LogRecord) -> bool:
        fields = vars(record)
        if not fields.pop("once_a_second", record.levelno >= logging.WARNING):
            return True
        kind = record.exc_info[0] if record.exc_info else None
        # asyncio's messages have further lines that differ for each object.
        message = str(record.msg).partition("\n")[0]
        event = (record.name, record.levelno, message, fields.get("code"), kind)
        now = self._clock()
        then, left_out = self._seen.get(event, (-1.0, 0))
        if now < then + 1:
            self._seen[event] = (then, left_out + 1)
            return False
        self._seen[event] = (now, 0)
        if left_out:
            record.left_out = left_out
        return True


def formatter(*, as_json: bool, colors: bool = False) -> logging.Formatter:
    # The import takes 0.1 s, so only a command that logs pays for it.
    import structlog  # noqa: PLC0415

    renderer: Processor
    if as_json:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=colors, sort_keys=False, timestamp_key="time"
        )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper("iso", utc=True, key="time"),
            structlog.stdlib.ExtraAdder(),
            _with_request,
            _with_traceback,
            _printable,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _in_order,
            renderer,
        ],
    )


class Masking(logging.Formatter):
    """Masks secrets in the output of another formatter, which is created at the first record."""

    def __init__(self, make: Callable[[], logging.Formatter], secrets: Collection[str]) -> None:
        super().__init__()
        self._lines = cache(make)
        self._secrets = [one for one in secrets if len(one) >= _MIN_SECRET]

    def format(self, record: logging.LogRecord) -> str:
        line = self._lines().format(record)
        for secret in self._secrets:
            line = line.replace(secret, _MASK)
        return line


def _with_request(_logger: object, _name: str, event: EventDict) -> EventDict:
    event.setdefault("request_id", current().request_id)
    return event


def _printable(_logger: object, _name: str, event: EventDict) -> EventDict:
    shown = {name: printable(one) for name, one in event.items() if isinstance(one, str)}
    return {**event, **shown}


def _with_traceback(_logger: object, _name: str, event: EventDict) -> EventDict:
    """Replace the exception by its traceback as text.

    Messages of exceptions from other packages are left out: they may quote a question or a
    provider's response.
    """
    found = event.pop("exc_info", None)
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["exception"] = "".join(_described(TracebackException.from_exception(error), error))
    return event


def _described(trace: TracebackException, error: BaseException) -> Iterator[str]:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    of_cause = trace.__cause__ or (None if trace.__suppress_context__ else trace.__context__)
    if cause is not None and of_cause is not None:
        yield from _described(of_cause, cause)
        yield "\nthen\n\n"
    yield from trace.stack.format()
    known = isinstance(error, RagError) or type(error).__module__ == "builtins"
    yield f"{type(error).__qualname__}: {error}" if known else type(error).__qualname__


def _in_order(_logger: object, _name: str, event: EventDict) -> Mapping[str, Any]:
    for name in _OF_OTHER_HANDLERS:
        event.pop(name, None)
    return {**{name: event.pop(name, "") for name in _FIRST}, **event}


class _ProcessHandler(logging.StreamHandler[TextIO]):
    """The handler of a `logging_to` block."""


@contextmanager
def logging_to(stream: TextIO, settings: Settings, *, server: bool) -> Iterator[None]:
    """Write the log of the whole process to `stream` during the block.

    A server logs this program's events, as JSON lines unless `stream` is a terminal; a command logs
    its warnings and errors. Both log those of other packages. An inner block replaces an outer one.
    """
    root, ours = logging.getLogger(), logging.getLogger("app")
    outer = [one for one in root.handlers if isinstance(one, _ProcessHandler)]
    handler = _ProcessHandler(stream)
    kept = [value for value in vars(settings).values() if isinstance(value, SecretStr)]
    terminal = stream.isatty()
    lines = partial(formatter, as_json=server and not terminal, colors=terminal)
    handler.setFormatter(Masking(lines, [one.get_secret_value() for one in kept]))
    handler.addFilter(OncePerSecond())
    level = ours.level
    for one in outer:
        root.removeHandler(one)
    root.addHandler(handler)
    ours.setLevel(logging.INFO if server else logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        for one in outer:
            root.addHandler(one)
        ours.setLevel(level)
