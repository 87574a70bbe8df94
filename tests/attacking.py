"""Tables of attacks, and how many steps the program takes for one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import settings


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


def steps(run: Callable[[], object]) -> int:
    """Return how many lines of the program run, each turn of a loop again."""
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
