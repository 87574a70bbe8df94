"""Calls to a provider that cost nothing, and circuit breakers that open early or late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from app.adapters.sqlite.serving_stores import SqliteSpending
from app.bootstrap import providers
from app.domain.cost import Price
from app.services.budget import Budget
from app.services.provider_calls import ProviderCalls
from app.services.resilience import CircuitBreaker

_FOLDER = TemporaryDirectory()
"""Deleted when the tests end."""


def free_calls(
    model: str = "llama",
    price: Price | None = None,
    **options: Any,
) -> ProviderCalls:
    """Without a limit on spending."""
    budget = Budget(SqliteSpending(Path(_FOLDER.name) / "spending.sqlite"), {})
    given = {"breaker": CircuitBreaker("the provider"), **options}
    return ProviderCalls(model, budget, price, **given)


@contextmanager
def opening_after(failures: int) -> Iterator[None]:
    """Circuits of applications that the block opens take so many failures to open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "CircuitBreaker", partial(CircuitBreaker, failures=failures))
        yield
