"""The time to look up one permanent link in a large ledger.

python scripts/bench/cite.py [IDS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.identity import content_id
from app.domain.ledger import Entry, Ledger, LedgerParagraph

BOOK = BookId("made-up")
SECTIONS, PAGES, GONE = 20, 200, 10
"""Paragraphs per section and per page; every tenth paragraph is a tombstone."""
LOOK_UPS = 500


def entry(number: int) -> Entry:
    text = f"paragraph number {number} of a book that was made up for this measurement"
    path = (f"Chapter {number // PAGES}", f"Section {number // SECTIONS}")
    file = f"{number // PAGES:05d}.md"
    paragraph = LedgerParagraph(content_id(text), text, file, path, f"https://book.example/{file}")
    return Entry(paragraph.content_id, paragraph, number, live=number % GONE != 0)


async def measure(ids: int, folder: Path) -> None:
    entries = [entry(number) for number in range(ids)]
    # A deleted page: no live paragraph is of its page or section.
    for number in range(ids // 2, ids // 2 + PAGES):
        entries[number] = Entry(
            entries[number].paragraph_id, entries[number].paragraph, number, live=False
        )
    store = SqliteLedgers(folder)
    started = time.perf_counter()
    await store.save(BOOK, Ledger({one.paragraph_id: one for one in entries}))
    print(f"{ids:,} ids saved in {time.perf_counter() - started:.2f} s")
    step = ids // LOOK_UPS
    asked = {
        "live": [one for one in entries if one.live][::step],
        "tombstone": [one for one in entries if not one.live][:: max(1, step // GONE)],
        "page gone": entries[ids // 2 : ids // 2 + PAGES],
        "unknown": [entry(ids + number) for number in range(LOOK_UPS)],
    }
    for name, some in asked.items():
        times = []
        for one in some:
            started = time.perf_counter()
            await store.locate(BOOK, one.paragraph_id)
            times.append(1_000 * (time.perf_counter() - started))
        high = statistics.quantiles(times, n=20)[-1]
        print(f"{name:10} p50 {statistics.median(times):.2f} ms, p95 {high:.2f} ms")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Path(name)))
