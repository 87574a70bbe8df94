"""Results of a book in another language than English: for its own questions, and for others.

    python scripts/bench/refusal_languages.py ../shared/data --home /tmp/halves

Every second text of a question set is the book. Questions about the other texts count as out of
domain, though some share its subjects. Uses xquad in English and in Spanish, whose questions are
translations of each other, with 250 of each kind.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

from dev_sets import DevSet, dev_sets_parser, indexed, single_questions

from app.domain.answering.answerability import ANSWER_THRESHOLD, REFUSAL_THRESHOLD
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter

SETS = ("xquad-en", "xquad-es")
SAMPLE = 250


def half_of(corpus: Path, folder: Path) -> set[str]:
    """Copy every second file of the corpus; return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(corpus.glob("*.md"))[::2]
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return {file.name for file in files}


def auroc(own: list[float], foreign: list[float]) -> float:
    above = sum((one > other) + (one == other) / 2 for one in own for other in foreign)
    return above / len(own) / len(foreign)


async def run(data: Path, home: Path) -> None:
    halves = {name: half_of(data / "qa" / name / "corpus", home / name) for name in SETS}
    # An absolute path is not changed when it is joined to the data's.
    sets = [DevSet(BookId(name), str((home / name).resolve())) for name in SETS]
    async with indexed(data, home / "rag", sets) as app:
        print("\nanswerable refused, not answered; out-of-domain refused, not answered; AUROC")
        for name, files in halves.items():
            every = single_questions(data, name)
            scope = SearchFilter(books=(BookId(name),))
            scores: list[list[float]] = []
            for own in (True, False):
                these = [one for one in every if (one.gold[0].file in files) is own]
                sample = random.Random(1).sample(these, SAMPLE)
                scores.append(
                    [
                        await app.answer.answerability(AskRequest(one.question, scope))
                        for one in sample
                    ]
                )
            below = [
                f"{sum(score < threshold for score in kind) / SAMPLE:7.1%}"
                for kind in scores
                for threshold in (REFUSAL_THRESHOLD, ANSWER_THRESHOLD)
            ]
            print(f"{name:12}{' '.join(below)}{auroc(*scores):8.3f}")


def main() -> None:
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
