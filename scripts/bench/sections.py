"""Measure how often the quizzes of the Rust book lead to their section, by definition of a section.

    python scripts/bench/sections.py ../shared/data --home /tmp/dev-index

A quiz's gold is the part of a page that contains the quiz, often a short closing one. The first row
counts a chunk that contains some of it. The others count a chunk in the same section, where a
section ends at the next heading of at most that level.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from dev_sets import DEV_SETS, dev_sets_parser, indexed, single_questions

from app.bootstrap.books import read_source
from app.domain.document import Book, Span
from app.domain.evaluation.retrieval_metrics import (
    MIN_OVERLAP,
    NDCG_DEPTH,
    Retrieved,
    score_ranking,
)
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.ingest_plan import IngestRequest

SET = next(one for one in DEV_SETS if one.book == "rust-book-quizzes")
LEVELS = (3, 2, 1)


def sections(book: Book, level: int) -> Mapping[str, Sequence[int]]:
    """The start of each file's sections, ascending; the first one at 0."""
    return {
        document.file: sorted(
            {0} | {block.start for block in document.blocks if 0 < block.level <= level}
        )
        for document in book.documents
    }


def section_of(starts: Sequence[int], spans: Sequence[Span]) -> tuple[Span, ...]:
    """The section that contains most of these spans."""
    shared: dict[int, int] = defaultdict(int)
    ends = [*starts[1:], 1 << 60]
    for start, end in spans:
        for at in range(bisect_right(starts, start) - 1, len(starts)):
            shared[at] += max(0, min(end, ends[at]) - max(start, starts[at]))
    best = max(shared, key=lambda at: (shared[at], -at))
    return ((starts[best], ends[best]),)


async def run(data: Path, home: Path) -> None:
    book = read_source(IngestRequest(data / SET.folder, book=SET.book, site=SET.site))
    levels = {level: sections(book, level) for level in LEVELS}
    ranks: dict[str, list[int]] = defaultdict(list)
    async with indexed(data, home, [SET]) as app:
        for question in single_questions(data, SET.questions):
            query = SearchQuery(question.question, NDCG_DEPTH, filter=SearchFilter((SET.book,)))
            hits = (await app.retrieve.search(query)).hits
            chunks = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in hits]
            ranks["the quiz's own part"].append(score_ranking(question, chunks, 5).first_hit)
            for level, starts in levels.items():
                found = [
                    Retrieved(one.file, section_of(starts[one.file], one.spans)) for one in chunks
                ]
                ranks[f"section of level {level}"].append(
                    score_ranking(question, found, 5).first_hit
                )
    print(f"A chunk finds it that shares {MIN_OVERLAP} characters with it.\n")
    print("| where a hit lies | hit@1 | hit@5 |\n|---|---:|---:|")
    for name, found_at in ranks.items():
        one, five = (sum(0 < rank <= k for rank in found_at) / len(found_at) for k in (1, 5))
        print(f"| {name} | {one:.3f} | {five:.3f} |")


if __name__ == "__main__":
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))
