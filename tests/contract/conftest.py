"""Fixtures of the contract tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.services.ports import BookStore
from tests.index_stores import OPENERS


@pytest.fixture(params=OPENERS)
async def index(request: pytest.FixtureRequest) -> AsyncIterator[BookStore]:
    """An empty index of each kind in turn."""
    async with OPENERS[request.param]() as opened:
        yield opened
