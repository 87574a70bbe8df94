"""Spanish questions on an English book, with and without cognates.

    python scripts/bench/cognates.py ../shared/data --home /tmp/ablation-index [--multilingual]

Puts the questions of xquad-es, translations of those of xquad-en, to the paragraphs of xquad-en;
gold is the English question's. Offline, local model, embedded index. Prints hit@1 and hit@5 without
and with `Retrieve.cognates`, and the difference with its 95 % interval (paired bootstrap). With
--multilingual, also compares them with an index of `RAG_EMBEDDER=e5` (the extra `multilingual`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dev_sets import DEV_SETS, dev_sets_parser, indexed

from app.adapters.question_file import read_questions
from app.domain.book_id import BookId
from app.domain.evaluation.paired_bootstrap import paired_bootstrap
from app.domain.evaluation.retrieval_metrics import RankingScores, Retrieved, score_ranking
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.evaluate import STANDARD_DEPTH
from app.services.retrieve import Retrieve

BOOK = BookId("xquad-en")


async def scores(retrieve: Retrieve, data: Path) -> Sequence[RankingScores]:
    english = {one.id: one for one in read_questions(data / f"qa/{BOOK}/questions.jsonl")}
    found = []
    for question in read_questions(data / "qa/xquad-es/questions.jsonl"):
        query = SearchQuery(question.question, filter=SearchFilter(books=(BOOK,)))
        hits = (await retrieve.search(query)).hits
        ranking = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in hits]
        found.append(score_ranking(english[question.id], ranking, STANDARD_DEPTH))
    return found


async def run(data: Path, home: Path, *, multilingual: bool) -> None:
    sets = [one for one in DEV_SETS if one.book == BOOK]
    async with indexed(data, home, sets) as app:
        plain = replace(app.retrieve.analysis, cognates=None)
        without = await scores(replace(app.retrieve, analysis=plain), data)
        within = await scores(app.retrieve, data)
    compare("without cognates", without, "with", within)
    if multilingual:
        async with indexed(data, home / "e5", sets, "e5") as app:
            compare("with cognates", within, "e5", await scores(app.retrieve, data))


def compare(
    name: str, first: Sequence[RankingScores], other: str, second: Sequence[RankingScores]
) -> None:
    for depth in (1, STANDARD_DEPTH):
        a, b = ([(one.hit(depth), 1.0) for one in all_] for all_ in (first, second))
        found = paired_bootstrap(a, b)
        interval = f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
        print(f"hit@{depth}: {found.a:.3f} {name}, {found.b:.3f} {other}, {interval}, n {len(a)}")


def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--multilingual", action="store_true", help="measure RAG_EMBEDDER=e5 too")
    options = parser.parse_args()
    asyncio.run(run(options.data, options.home, multilingual=options.multilingual))


if __name__ == "__main__":
    main()
