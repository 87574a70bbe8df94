"""Logging: one line for each event with its fields; repeated events once a second."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from cachetools import LRUCache

_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_MOST_EVENTS = 1_000


class OncePerSecond(logging.Filter):
    """Passes one record of each event a second; the next one has the number left out.

    An outage or attack repeats an error thousands of times a second, which must not fill the disk.
    An event is identified by logger, level, message and exception class.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        super().__init__()
        self._clock = clock
        self._seen: LRUCache[tuple[object, ...], tuple[float, int]] = LRUCache(_MOST_EVENTS)
        """Event -> (time of the last record passed, number left out since)."""

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        # Later lines of asyncio's messages differ by object.
        event = (record.name, record.levelno, str(record.msg).partition("\n")[0], kind)
        now = self._clock()
        then, left_out = self._seen.get(event, (-1.0, 0))
        if now < then + 1:
            self._seen[event] = (then, left_out + 1)
            return False
        self._seen[event] = (now, 0)
        if left_out:
            record.left_out = left_out
        return True


class LineFormatter(logging.Formatter):
    """Formats time, level, logger, event and fields, such as `code=provider_auth`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        fields = {key: value for key, value in vars(record).items() if key not in _EVERY_RECORD}
        pairs = (f"{key}={json.dumps(value, default=str)}" for key, value in fields.items())
        return " ".join([super().formatMessage(record), *pairs])


@contextmanager
def logging_to(stream: TextIO) -> Iterator[None]:
    """Write warnings and errors of the whole process to `stream` inside the block."""
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(LineFormatter())
    handler.addFilter(OncePerSecond())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
