"""The lease of a book's writer, stored in the book's record because Qdrant has no locks."""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

from app.domain.book_id import BookId
from app.domain.errors import IndexBusy

LEASE_SECONDS = 600.0
"""A writer counts as dead if it has not renewed its lease for this time."""

RENEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lease:
    host: str
    pid: int
    process: str
    """Random: distinguishes processes with the same `pid`, such as 1 in every container."""
    started_at: str
    seen_at: float
    """Seconds since the epoch."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, started {self.started_at}"

    def renewed(self) -> Lease:
        return replace(self, seen_at=time.time())

    def is_of(self, other: Lease) -> bool:
        """Whether both belong to the same writer; the time of renewal does not matter."""
        return replace(self, seen_at=0.0) == replace(other, seen_at=0.0)

    def is_held(self) -> bool:
        if self.process == _this_process():
            return True
        if time.time() - self.seen_at >= LEASE_SECONDS:
            return False  # even if a process here has its id: that may be another one
        return self.host != socket.gethostname() or (
            self.pid != os.getpid() and _is_alive(self.pid)
        )


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


def refuse_if_held(book: BookId, lease: Lease | None) -> None:
    if lease and lease.is_held():
        message = (
            f"book {book!r} is being written by another run ({lease}): "
            "wait for it to end, or stop it"
        )
        raise IndexBusy(message)
