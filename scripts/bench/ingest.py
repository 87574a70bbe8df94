"""Time, memory and cost of complete ingests, each in its own process.

    python scripts/bench/ingest.py BOOK... [--home FOLDER]

For each book, with the embedder that the settings choose: a cold run, a run on the unchanged book,
one with a word edited on the largest page, and one more for another address (nothing to embed).
Wall seconds by phase, CPU seconds, MB/s of Markdown and peak memory; `start` is the process's own
start-up. State is in a temporary folder under `--home`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_SUFFIXES = {".md", ".mdx"}
_PHASES = ("read", "chunk", "compare", "embed", "index", "publish")


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    cpu: float
    """CPU seconds, summed over cores."""
    megabytes: float
    """Peak resident memory."""
    phases: dict[str, float]
    chunks: int
    embedded: int
    inner: float
    """Seconds by the program's own measurement."""


def ingest(folder: Path, home: Path, *options: str) -> Run:
    command = [sys.executable, "-m", "app.cli", "ingest", str(folder), "--json"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, env={**os.environ, "RAG_HOME": str(home)}
    )
    assert process.stdout
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"{folder}: the ingest failed")
    return Run(
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        report["phases"],
        report["chunks"],
        report["embedded"],
        report["seconds"],
    )


def bench_book(folder: Path, home: Path) -> None:
    copy = home / "source" / folder.resolve().name
    shutil.copytree(folder, copy)
    pages = [path for path in copy.rglob("*") if path.suffix in _SUFFIXES]
    megabytes = sum(path.stat().st_size for path in pages) / 1e6
    state = home / "state"
    runs = {"cold": ingest(copy, state), "unchanged": ingest(copy, state)}
    edit(max(pages, key=lambda path: path.stat().st_size))
    runs["one word"] = ingest(copy, state)
    runs["new address"] = ingest(copy, state, "--base-url", "https://moved.example")
    print(f"\n{copy.name}: {megabytes:.2f} MB of Markdown, {runs['cold'].chunks:,} chunks")
    print(
        f"{'run':12}{'seconds':>8}{'CPU s':>7}{'MB/s':>7}{'peak MB':>9}{'embedded':>9}{'start':>7}",
        end="",
    )
    print("".join(f"{phase:>9}" for phase in _PHASES))
    for name, run in runs.items():
        phases = "".join(f"{run.phases.get(phase, 0.0):9.2f}" for phase in _PHASES)
        speed = megabytes / run.seconds
        print(
            f"{name:12}{run.seconds:8.2f}{run.cpu:7.2f}{speed:7.2f}{run.megabytes:9.0f}"
            f"{run.embedded:9,}{run.seconds - run.inner:7.2f}{phases}"
        )


def edit(page: Path) -> None:
    """Change a word of the last prose paragraph."""
    text = page.read_text("utf-8")
    place = text.rindex(" the ")
    page.write_text(text[:place] + " this very " + text[place + 5 :], "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="+", type=Path)
    parser.add_argument("--home", type=Path, help="where the temporary state lies")
    options = parser.parse_args()
    for book in options.books:
        with tempfile.TemporaryDirectory(dir=options.home) as home:
            bench_book(book, Path(home))


if __name__ == "__main__":
    main()
