"""Fixtures of the contract tests."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.adapters.providers.cohere_client import CohereClient, open_client
from app.services.ports import BookStore
from tests.cohere_double import CohereDouble
from tests.index_stores import OPENERS
from tests.made_chunks import count_words


@pytest.fixture(params=OPENERS)
async def index(request: pytest.FixtureRequest) -> AsyncIterator[BookStore]:
    """An empty index of each kind in turn."""
    async with OPENERS[request.param]() as opened:
        yield opened


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    """A stand-in for Cohere, where a word is a token."""
    with CohereDouble(count_tokens=count_words) as served:
        yield served


@pytest.fixture
async def cohere(double: CohereDouble) -> AsyncIterator[CohereClient]:
    """A client of the stand-in."""
    async with open_client(double.key, double.url) as client:
        yield client
