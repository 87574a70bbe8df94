"""The embedded index in other processes, and on a clock that a test sets."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tests.conftest import ROOT


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def in_process(home: Path, body: str) -> subprocess.Popen[str]:
    """Run the body of an async function in a process of its own; `index` is at hand."""
    script = f"""
import asyncio, concurrent.futures.thread, os, resource, sys
from pathlib import Path
from app.adapters.qdrant.edge import EdgeIndex
from app.domain.errors import RagError
from app.domain.retrieval.query import SearchFilter
from tests.index_points import DIMENSION, manifest, points, publish, vector

clock = [0.0]

async def main():
    index = EdgeIndex(Path({str(home)!r}), lambda: clock[0])
{textwrap.indent(textwrap.dedent(body), "    ")}

try:
    asyncio.run(main())
except RagError as error:
    print(type(error).__name__, error)
"""
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=60)[0]


def book_entries(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "index" / "book").iterdir())
