"""Speed of the parser compared with plain markdown-it-py on the same files, in one run.

    python scripts/bench/parse.py BOOK... [--repeat 3]

Prints MB/s of UTF-8 source per core for reading a book (blocks with kinds, spans, heading paths,
anchors, URLs and paragraph ids) and for markdown-it-py parsing the same files to
tokens, and their ratio. Both read the files from disk. The best of the repeats counts; the two
alternate, so that other load on the machine affects both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from markdown_it import MarkdownIt

from app.adapters.reading.book import read_book
from app.services.gc_control import paused_gc


def bare(folder: Path, files: list[str]) -> None:
    """Parse each file with markdown-it-py, tables enabled, and nothing else."""
    parser = MarkdownIt("commonmark").enable("table")
    for file in files:
        parser.parse((folder / file).read_bytes().decode("utf-8"))


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds with the garbage collector off, which reading a book pauses anyway."""
    with paused_gc():
        start = time.process_time()
        work()
        return time.process_time() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("books", nargs="+", type=Path)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    print(f"{'book':24} {'files':>5} {'MB':>6} {'blocks':>7} {'ours':>7} {'bare':>7} {'ratio':>6}")
    for folder in options.books:
        book = read_book(folder)
        files = [document.file for document in book.documents]
        root = folder if folder.is_dir() else folder.parent
        megabytes = sum((root / file).stat().st_size for file in files) / 1e6
        ours, theirs = [], []
        for _ in range(options.repeat):
            ours.append(seconds(lambda folder=folder: read_book(folder)))  # type: ignore[misc]
            theirs.append(seconds(lambda: bare(root, files)))  # noqa: B023 - called at once
        fast, slow = megabytes / min(ours), megabytes / min(theirs)
        blocks = sum(len(document.blocks) for document in book.documents)
        print(
            f"{book.id:24} {len(files):5} {megabytes:6.2f} {blocks:7} "
            f"{fast:6.2f}  {slow:6.2f}  {fast / slow:5.0%}"
        )


if __name__ == "__main__":
    main()
