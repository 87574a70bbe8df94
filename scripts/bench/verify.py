"""The time to check a book's index, and to open it with and without its checksums.

    python scripts/bench/verify.py RAG_HOME/index/BOOK [--turns 5]

Best of the turns; the files are in the page cache except for the first line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from app.adapters.qdrant.checksums import Checksums
from app.adapters.qdrant.edge_folder import BookFolder, size_on_disk
from app.adapters.qdrant.edge_shard import load_shard


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("book", type=Path)
    options.add_argument("--turns", type=int, default=5)
    chosen = options.parse_args()
    folder = BookFolder(chosen.book)
    current = folder.current()
    assert current, "no book is published there"
    number = current.generation
    path = folder.generation(number)
    manifest = folder.manifest(number)
    size = size_on_disk(path)
    print(f"{manifest.chunks:,} chunks x {manifest.dimension}, {size / 2**20:.0f} MB")
    tell("first check of every byte", lambda: folder.check(number), 1)
    tell("check of every byte", lambda: folder.check(number), chosen.turns)
    tell("check of all sizes", lambda: folder.wrong_files(number, sizes_only=True), chosen.turns)
    tell("hash at publication", lambda: Checksums.of(path, "shard"), chosen.turns)
    tell("open by the engine", lambda: load_shard(path / "shard").close(), chosen.turns)


def tell(what: str, act: Callable[[], object], turns: int) -> None:
    print(f"  {what:27} {1000 * min(seconds(act) for _ in range(turns)):8.1f} ms")


def seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
