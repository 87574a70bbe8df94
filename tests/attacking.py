"""Tables of attacks, and how many attacks were tried; a pytest plugin.

A module of attacks is marked `attack("name of its table")`. Whenever such modules ran, a line for
each table says how many attacks were tried, came out as they must, and broke something.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

_tries = 0


def table(name: str) -> list[dict[str, Any]]:
    """Return the lines of `attacks/NAME.jsonl`; each has a `name` of its own."""
    text = (Path(__file__).parent / "attacks" / f"{name}.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in text.split("\n") if line]
    assert len({line["name"] for line in lines}) == len(lines), f"{name}: two of one name"
    return lines


def filled(text: str, repeat: dict[str, tuple[str, int]]) -> str:
    """Put each text, as many times as is said, where its mark stands."""
    for mark, (piece, times) in repeat.items():
        text = text.replace(mark, piece * times)
    return text


def tried(number: int = 1) -> None:
    """Count attacks within one test, which else counts as one."""
    global _tries  # noqa: PLW0603 - properties and helpers have no fixture to count with
    _tries += number


def steps(run: Callable[[], object]) -> int:
    """Return how many lines of the program run, each turn of a loop again."""
    tried()
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += 1
        return line

    def begin(frame: FrameType, event: str, argument: object) -> Any:
        return line(frame, event, argument) if "/app/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def examples(number: int) -> int:
    """Return how many a property gets that has `number` of them in the default run."""
    return number * settings().max_examples // 100


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    global _tries  # noqa: PLW0603
    report = yield
    mark = item.get_closest_marker("attack")
    if mark and (report.when == "call" or report.failed):
        report.user_properties.append(("attack", (*mark.args, _tries or 1)))
    if report.when == "teardown":
        _tries = 0
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tries: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(outcome):
            for key, value in getattr(report, "user_properties", []):  # a module's has none
                if key == "attack":
                    tries[value[0]] += value[1]
                    broken[value[0]] += outcome != "passed"
    if tries:
        terminalreporter.section("attacks")
        terminalreporter.line(f"{'table':16}{'tries':>10}{'as they must be':>18}{'broken':>8}")
        for name in [*sorted(tries), "all"]:
            all_tries, all_broken = (
                counts.total() if name == "all" else counts[name] for counts in (tries, broken)
            )
            well = all_tries - all_broken
            terminalreporter.line(f"{name:16}{all_tries:>10,}{well:>18,}{all_broken:>8,}")
