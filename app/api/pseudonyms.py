"""Pseudonyms for the question log: readers can be counted, but not identified."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from fastapi import Request

from app.api.limits import client_of, site


@dataclass(slots=True)
class Pseudonyms:
    """Pseudonyms by a keyed hash of the address.

    The key is random, in memory only and changes every day. So a pseudonym reveals neither the
    address nor the reader's pseudonym of another day. Each process has another key: a reader who
    asks two processes counts twice.
    """

    _day: date | None = field(default=None, init=False)
    _key: bytes = field(default=b"", init=False)

    def of(self, address: str) -> str:
        today = datetime.now(UTC).date()
        if self._day != today:
            self._day, self._key = today, secrets.token_bytes(32)
        return hmac.digest(self._key, site(address).encode(), "sha256").hex()[:16]


def reader_of(request: Request) -> str:
    pseudonyms: Pseudonyms = request.app.state.pseudonyms
    return pseudonyms.of(client_of(request))
