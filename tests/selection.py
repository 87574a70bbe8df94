"""Which tests run, by folder and by `--quick` and `--long`; a pytest plugin."""

from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="run the unit tests but for attacks, and the first test of each contract module",
    )
    parser.addoption("--long", action="store_true", help="run the long attacks and properties too")


@pytest.hookimpl(tryfirst=True)  # before pytest-timeout reads its option
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("long"):
        settings.load_profile("long")
        config.option.timeout = config.option.timeout or 3_600
    elif config.getoption("quick"):
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with the name of its folder: unit, contract or end_to_end."""
    for item in items:
        item.add_marker(item.path.relative_to(TESTS).parts[0])
    long = config.getoption("long")
    chosen = [item for item in items if long or not item.get_closest_marker("long")]
    if config.getoption("quick"):
        chosen = _quick(chosen)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def _quick(items: list[pytest.Item]) -> list[pytest.Item]:
    # One with a time limit of its own is not quick.
    firsts = {
        item.path: item
        for item in reversed(items)
        if item.get_closest_marker("contract") and not item.get_closest_marker("timeout")
    }
    smoke = set(firsts.values())
    return [
        item
        for item in items
        if item in smoke
        or (item.get_closest_marker("unit") and not item.get_closest_marker("attack"))
    ]
