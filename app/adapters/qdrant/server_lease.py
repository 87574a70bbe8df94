"""Lease of the writer of a generation on a server, in the metadata of its collection.

A server has no locks. Creating the collection is the atomic step that admits one writer; from the
lease a later writer sees whether it is still working or died.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache

LEASE_SECONDS = 600.0
"""A writer on another machine that has not renewed its lease for so long counts as dead."""

RENEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lease:
    host: str
    pid: int
    process: str
    """Random: distinguishes processes with one id, as the first of every container has id 1."""
    started_at: str
    seen_at: float
    """Seconds since the epoch."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, started {self.started_at}"

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def renewed(self) -> Lease:
        return replace(self, seen_at=time.time())

    def is_held(self) -> bool:
        if self.process == _this_process():
            return True
        if self.host == socket.gethostname():
            return self.pid != os.getpid() and _is_alive(self.pid)
        return time.time() - self.seen_at < LEASE_SECONDS


def new_lease() -> Lease:
    now = time.time()
    started = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Lease(socket.gethostname(), os.getpid(), _this_process(), started, now)


def lease_from_json(data: object) -> Lease | None:
    if not isinstance(data, dict):
        return None
    try:
        return Lease(**data)
    except TypeError:
        return None


@cache
def _this_process() -> str:
    return secrets.token_hex(8)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
