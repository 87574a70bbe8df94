"""Configures the log of the process: JSON lines from a server, readable lines on a terminal.

Modules log with the standard library: an event's name as message, its fields in `extra`. Every line
has `time`, `level`, `event` and `request_id`, which is empty outside a request.
"""

import json
import logging
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from traceback import TracebackException
from typing import Any, TextIO

from pydantic import SecretStr

from app.domain.characters import printable
from app.domain.errors import RagError
from app.services.recording import current
from app.settings import Settings

_OF_EVERY_RECORD = {*vars(logging.makeLogRecord({})), "message", "asctime"}
"""Attributes that are no fields of the event."""
_MIN_SECRET = 8
"""Minimum characters of a masked secret: a shorter one may be part of a common word."""


class LineFormatter(logging.Formatter):
    """Formats a record as a JSON object or as `time [level] event name=value ...`.

    `secrets` are masked.
    """

    def __init__(self, *, as_json: bool, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._as_json = as_json
        self._secrets = [one for one in secrets if len(one) >= _MIN_SECRET]

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        if self._as_json:
            line = json.dumps(fields, ensure_ascii=False, default=str)
        else:
            trace = fields.pop("exception", "")
            line = _readable(**fields) + (f"\n{trace}" if trace else "")
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
        "level": record.levelname.lower(),
        "event": record.getMessage(),
        "request_id": current().request_id,
    }
    fields |= {name: one for name, one in vars(record).items() if name not in _OF_EVERY_RECORD}
    if record.exc_info and record.exc_info[1]:
        error = record.exc_info[1]
        fields["exception"] = "".join(_described(TracebackException.from_exception(error), error))
    return {name: printable(one) if isinstance(one, str) else one for name, one in fields.items()}


def _readable(time: str, level: str, event: str, request_id: str, **fields: object) -> str:
    shown = {"request_id": request_id or None, **fields}
    told = "".join(f" {name}={one}" for name, one in shown.items() if one is not None)
    return f"{time} [{level}] {event}{told}"


def _described(trace: TracebackException, error: BaseException) -> Iterator[str]:
    """Yield the traceback. Messages of exceptions from other packages are left out: they may quote
    a question or a provider's response.
    """
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    of_cause = trace.__cause__ or (None if trace.__suppress_context__ else trace.__context__)
    if cause is not None and of_cause is not None:
        yield from _described(of_cause, cause)
        yield "\nthen\n\n"
    yield from trace.stack.format()
    known = isinstance(error, RagError) or type(error).__module__ == "builtins"
    yield f"{type(error).__qualname__}: {error}" if known else type(error).__qualname__


class _ProcessHandler(logging.StreamHandler[TextIO]):
    """The handler of a `logging_to_stderr` block: writes to what stderr is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


@contextmanager
def logging_to_stderr(settings: Settings, *, server: bool) -> Iterator[None]:
    """Write the log of the whole process to stderr during the block.

    A server logs this program's events, as JSON lines unless that is a terminal; a command logs
    its warnings and errors. Both log those of other packages. An inner block replaces an outer one.
    """
    root, ours = logging.getLogger(), logging.getLogger("app")
    outer = [one for one in root.handlers if isinstance(one, _ProcessHandler)]
    handler = _ProcessHandler()
    kept = [one for one in vars(settings).values() if isinstance(one, SecretStr)]
    secrets = [one.get_secret_value() for one in kept]
    handler.setFormatter(LineFormatter(as_json=server and not sys.stderr.isatty(), secrets=secrets))
    root.handlers = [one for one in root.handlers if one not in outer]
    root.addHandler(handler)
    level = ours.level
    ours.setLevel(logging.INFO if server else logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.handlers += outer
        ours.setLevel(level)
