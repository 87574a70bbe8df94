"""Runs the command line in this process, with a state folder and an environment of its own."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from app.cli import main

LAMPS = {
    "index.md": "# A Tiny Book\n\nThis book is about lighthouses and the people who keep them.\n",
    "lamps.md": (
        "# Lamps\n\nThe Fresnel lens bends the light of a small lamp into a single beam.\n\n"
        "## Fuel\n\nOld lamps burned whale oil, later ones paraffin, and today they are electric.\n"
        "\n| fuel | years |\n|---|---|\n| whale oil | 1780-1850 |\n| paraffin | 1850-1920 |\n"
    ),
}
"""The pages of the book `tiny`."""
KEYS = ("CO_API_KEY", "COHERE_API_KEY", "QDRANT_URL", "QDRANT_API_KEY")

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Json:
        """Return the only line of stdout."""
        (line,) = self.out.splitlines()
        value: Json = json.loads(line)
        return value

    def refusal(self, code: int = 2) -> str:
        """Return the last line of stderr, which says what was wrong; stdout is empty."""
        line = self.err.splitlines()[-1]
        assert (self.code, self.out, line.startswith("textbook-rag")) == (code, "", True), self
        assert "Traceback" not in self.err
        return line

    def lines(self) -> list[Json]:
        return [json.loads(line) for line in self.out.splitlines()]


Run: TypeAlias = Callable[..., Result]


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths below the folder, which need not exist; return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def write_questions(path: Path, questions: Iterable[Mapping[str, object]]) -> Path:
    rows = [{"id": str(number), **one} for number, one in enumerate(questions)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def runner(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return `run(*arguments, **environment)`."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home)
    monkeypatch.setenv("RAG_HOME", str(home / "state"))

    def run(*arguments: str | Path, **environment: str) -> Result:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            capsys.readouterr()
            code = main([str(argument) for argument in arguments])
            out, err = capsys.readouterr()
        return Result(code, out, err)

    return run
