"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A property holds or not, however busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

pytest_plugins = ["tests.owl_server"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real books and question sets; a stranger's clone has none."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the development books in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def sample_book() -> Path:
    """Return the folder of the book that ships with the program."""
    return ROOT / "app" / "sample_book"
