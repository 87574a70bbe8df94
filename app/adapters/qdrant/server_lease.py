"""The lease of a book's writer, stored in the book's record because Qdrant has no locks."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.domain.book_id import BookId
from app.domain.errors import IndexBusy

LEASE_SECONDS = 120.0
"""A writer counts as dead if it has not renewed its lease for this time."""

RENEW_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Lease:
    host: str
    pid: int
    started_at: str
    """ISO 8601 with microseconds: every process in a container may have the same `pid`."""
    seen_at: float
    """Seconds since the epoch."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, started {self.started_at}"

    def renewed(self) -> Lease:
        return replace(self, seen_at=time.time())

    def is_of(self, other: Lease) -> bool:
        """Whether both belong to the same writer; the time of renewal does not matter."""
        return replace(self, seen_at=0.0) == replace(other, seen_at=0.0)


def new_lease() -> Lease:
    started_at = datetime.now(UTC).isoformat(timespec="microseconds")
    return Lease(socket.gethostname(), os.getpid(), started_at, time.time())


def lease_from_json(data: object) -> Lease | None:
    if not isinstance(data, dict):
        return None
    try:
        return Lease(**data)
    except TypeError:
        return None


def refuse_if_held(book: BookId, lease: Lease | None) -> None:
    """Raise IndexBusy while a writer that is not dead has the lease."""
    if lease and (rest := lease.seen_at + LEASE_SECONDS - time.time()) > 0:
        message = (
            f"book {book!r} is being written by another run ({lease}): wait for it to end, or stop "
            f"it; if it was killed, try again in {rest:.0f} s"
        )
        raise IndexBusy(message)
