"""Compare the scores of a Qdrant server and the embedded engine, for every development book.

    python scripts/bench/server_scores.py ../shared/data --home FOLDER --url http://127.0.0.1:6333
        [--questions 200]

Every book is ingested into both. Each question of its file (of all files, if it has none) is
searched for in one book, in three and in all, by its vector and by its BM25 terms. Prints the
largest difference of two scores, and the number of hits in only one of the two lists of 50, not
counting equal scores at the list's end. The first book is searched before and after the others are
on the server: its scores must be equal to the last bit. Exit 1 if a score differs by more than 1e-5
and by more than three units in the last place: both engines sum 32-bit numbers, whose unit is
7.6e-6 for scores from 64, each in its own order.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from dev_sets import DEV_SETS, DevSet, Silent, single_questions
from numpy import float32, spacing

from app.bootstrap.application import Application, application
from app.domain.book_id import BookId
from app.domain.retrieval.query import Candidates, ScoredId, SearchFilter, SparseVector, Vector
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings

LIMIT = 50
TOLERANCE = 1e-5
UNITS = 3
Asked = tuple[Vector, SparseVector]


@dataclass(slots=True)
class Compared:
    """Results of one kind of search in one scope."""

    scores: int = 0
    largest: float = 0.0
    """Difference of two scores of one chunk."""
    beyond: int = 0
    """Scores that differ by more than the tolerance."""
    unshared: int = 0
    """Hits of only one list, though better than the last of the other."""

    def add(self, one: Sequence[ScoredId], other: Sequence[ScoredId]) -> None:
        scores = [{(hit.book, hit.chunk_id): hit.score for hit in hits} for hits in (one, other)]
        for key in scores[0].keys() & scores[1].keys():
            self.scores += 1
            difference = abs(scores[0][key] - scores[1][key])
            self.largest = max(self.largest, difference)
            self.beyond += difference > max(
                TOLERANCE, UNITS * float(spacing(float32(scores[0][key])))
            )
        for mine, theirs in (scores, scores[::-1]):
            last = min(theirs.values(), default=0.0) if len(theirs) == LIMIT else 0.0
            unshared = [score for key, score in mine.items() if key not in theirs]
            self.unshared += sum(score > last + TOLERANCE for score in unshared)

    def __str__(self) -> str:
        return f"{self.scores:7,} scores, differ by {self.largest:.1e}, {self.unshared} unshared"


async def ingest(app: Application, data: Path, one: DevSet) -> None:
    request = IngestRequest(
        data / one.folder, book=one.book, site=one.site, exclude_kinds=one.exclude
    )
    await app.ingest.run(request, Phases(Silent()))


async def questions(app: Application, data: Path, one: DevSet, most: int) -> list[Asked]:
    names = [one.questions] if one.questions else [dev.questions for dev in DEV_SETS]
    texts = [q.question for name in names if name for q in single_questions(data, name)]
    texts = list(dict.fromkeys(texts))
    if len(texts) > most:
        texts = random.Random(7).sample(texts, most)
    lexical = app.retrieve.analysis.lexical
    return [
        (await app.embedder.embed_query(text), lexical.question_vector(text, "en", ()))
        for text in texts
    ]


async def compare(
    embedded: Application, server: Application, asked: Sequence[Asked], books: Sequence[BookId]
) -> tuple[Compared, Compared]:
    by_vector, by_terms = Compared(), Compared()
    for dense, sparse in asked:
        one, other = [await search(app, dense, sparse, books) for app in (embedded, server)]
        by_vector.add(one.dense, other.dense)
        by_terms.add(one.sparse, other.sparse)
    return by_vector, by_terms


async def search(
    app: Application, dense: Vector, sparse: SparseVector, books: Sequence[BookId]
) -> Candidates:
    return await app.index.search(dense, sparse, LIMIT, SearchFilter(books=tuple(books)))


def settings(home: Path, url: str) -> Settings:
    prefix = f"scores-{secrets.token_hex(4)}"
    return Settings(
        _env_file=None,
        home=home,
        embedder="local",
        generator="extractive",
        qdrant_url=url,
        qdrant_collection_prefix=prefix,
    )


async def run(options: argparse.Namespace) -> bool:
    data: Path = options.data
    async with AsyncExitStack() as stack:
        embedded, server = [
            await stack.enter_async_context(application(settings(options.home / name, url)))
            for name, url in (("embedded", ""), ("server", options.url))
        ]
        for one in DEV_SETS:
            await ingest(embedded, data, one)
        first = DEV_SETS[0]
        await ingest(server, data, first)
        asked = await questions(server, data, first, options.questions)
        alone = [await search(server, *one, [first.book]) for one in asked]
        for one in DEV_SETS[1:]:
            await ingest(server, data, one)
        beside = [await search(server, *one, [first.book]) for one in asked]
        moved = sum(a != b for a, b in zip(alone, beside, strict=True))
        print(f"{first.book}: {moved} of {len(asked)} answers moved when 8 books were added")
        good = moved == 0
        for at, one in enumerate(DEV_SETS):
            asked = await questions(server, data, one, options.questions)
            some = [DEV_SETS[(at + step) % len(DEV_SETS)].book for step in range(3)]
            for scope, books in (("one", [one.book]), ("three", some), ("all", [])):
                found = await compare(embedded, server, asked, books)
                for kind, result in zip(("vectors", "BM25"), found, strict=True):
                    good = good and result.beyond == 0 and result.scores > 0
                    print(f"{one.book:18} {scope:5} {kind:7} {result}", flush=True)
        for one in DEV_SETS:
            await server.index.remove(one.book)
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--home", type=Path, required=True, help="where the indexes are kept")
    parser.add_argument("--url", required=True, help="of the Qdrant server")
    parser.add_argument("--questions", type=int, default=200, help="of each book at most")
    sys.exit(not asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
