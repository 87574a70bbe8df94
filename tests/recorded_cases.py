"""Cases in a text file: a name, what is given, and what is read of it.

    === name
    given
    ---
    read

After a change that is meant, `python -m tests.unit.test_…` writes a file anew: read the difference.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.conftest import ROOT


def case_lines(name: str) -> list[tuple[str, str]]:
    """What is given and what is expected, by `fixtures/cases/NAME.txt`.

    A line is `given => expected`, or what stays as it is; or a comment, which begins with `# `.
    Line ends and characters that nobody sees are escaped as in Python.
    """
    lines = (ROOT / "tests/fixtures/cases" / f"{name}.txt").read_text("utf-8").splitlines()
    parts = (_unescaped(one).partition(" =>") for one in lines if not one.startswith("# "))
    return [(given, expected[1:] if arrow else given) for given, arrow, expected in parts]


def _unescaped(line: str) -> str:
    return re.sub(r"\\(n|u\w{4})", lambda one: one[0].encode().decode("unicode_escape"), line)


class RecordedCases:
    def __init__(self, name: str, read: Callable[[Path, str], str]) -> None:
        """`read` returns what is read of a case; it may write into the folder."""
        self._file, self._read = ROOT / "tests/fixtures" / name, read
        self._cases: list[tuple[str, str, str]] = []
        for case in f"\n{self._file.read_text('utf-8')}".split("\n=== ")[1:]:
            name, _, rest = case.partition("\n")
            given, _, read_before = rest.partition("\n---\n")
            self._cases.append((name, given, read_before.strip("\n")))

    def parameters(self) -> list[ParameterSet]:
        return [pytest.param(*case, id=name) for name, *case in self._cases]

    def write_anew(self) -> None:
        text = ""
        for name, given, _ in self._cases:
            with tempfile.TemporaryDirectory() as folder:
                text += f"=== {name}\n{given}\n---\n{self._read(Path(folder), given)}\n"
        self._file.write_text(text, "utf-8")
