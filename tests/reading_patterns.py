"""Text that is hostile or merely large, made as long as it is asked for.

A pattern takes a number of characters and returns a text of about that length, so that twice the
number is twice the text whatever the pattern nests. In the tables `growth.jsonl`, of what is read,
and `domain_growth.jsonl`, of what comes after, each has a name, the arguments of one of the
functions below under that function's name, and what stands `before` and `after`.
"""

from collections.abc import Callable
from itertools import count, takewhile
from math import isqrt
from typing import Any

from tests.attacking import table

Pattern = Callable[[int], str]


def times(unit: str) -> Pattern:
    """The unit again and again."""
    return lambda size: unit * (size // len(unit))


def numbered(unit: str) -> Pattern:
    """The unit again and again, `№` being its number."""
    return lambda size: "".join(
        unit.replace("№", str(at)) for at in range(size // (len(unit) + 3) + 1)
    )


def deeper(line: str, step: str) -> Pattern:
    """The line again and again, each time indented by one more step."""
    return lambda size: "".join(step * at + line for at in range(isqrt(2 * size // len(step))))


def longer(mark: str, rest: str) -> Pattern:
    """The mark once, twice, three times and so on, each time with the rest behind it."""
    return lambda size: "".join(
        mark * at + rest
        for at in takewhile(lambda at: at * at * len(mark) // 2 + at * len(rest) < size, count(1))
    )


def both(opening: str, middle: str, closing: str) -> Pattern:
    """As many openings as closings, with something in the middle."""

    def made(size: int) -> str:
        number = size // len(opening + closing)
        return opening * number + middle + closing * number

    return made


def patterns(name: str) -> dict[str, Pattern]:
    """Return the patterns of a table by their names."""
    return {line.pop("name"): _pattern(**line) for line in table(name)}


def _pattern(before: str = "", after: str = "", **shape: Any) -> Pattern:
    ((kind, given),) = shape.items()
    made: Pattern = globals()[kind](*([given] if isinstance(given, str) else given))
    return lambda size: before + made(size) + after


PATTERNS = patterns("growth") | {
    "columns": lambda size: (
        "|".join("a" * (size // 6)) + "\n" + "-|" * (size // 6) + "\n" + "|".join("b" * (size // 6))
    ),
    "rows and columns": lambda size: (
        "| a " * isqrt(size // 4)
        + "|\n"
        + "|---" * isqrt(size // 4)
        + "|\n"
        + ("| b " * isqrt(size // 4) + "|\n") * isqrt(size // 4)
    ),
    "nested directives": lambda size: (
        "".join(":" * at + "note\n" for at in range(isqrt(size), 2, -1))
        + "".join(":" * at + "\n" for at in range(3, isqrt(size) + 1))
    ),
    "a heading's long number": lambda size: f"# a_{'1' * (size // 2)}\n\n" * 2,
}
