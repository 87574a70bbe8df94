"""Cases in a text file: a name, what is given, and what is read of it.

    === name
    given
    ---
    read

After a change that is meant, `python -m tests.unit.test_…` writes a file anew: read the difference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.conftest import ROOT


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
