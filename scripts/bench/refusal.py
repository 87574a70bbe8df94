"""Calibrate "the book does not say": own questions of a book against those of the other books.

    python scripts/bench/refusal.py ../shared/data --home /tmp/dev-index

Prints, a book a line, how well the answerability score tells the two apart with weights fitted on
the other books (AUROC; foreign questions refused when 5 % of the own are; what the threshold
refuses), and what the weights in `app.domain.answering.refusal` refuse; then the weights fitted on
all books, the curve over the threshold, and the near misses: questions whose page is there, but not
the answer. Definitions ("organelle that makes ATP") are left out: they are no questions.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from dev_sets import DEV_SETS, ROOT, SAMPLE, dev_sets_parser, indexed, single_questions
from numpy.typing import NDArray

from app.adapters.question_file import read_questions
from app.bootstrap import Application
from app.domain.answering.refusal import (
    BIAS,
    DEFINED,
    GENERATOR_THRESHOLD,
    PARAGRAPH,
    PHRASES,
    SENTENCE,
    SHARE,
    SIZE,
    THRESHOLD,
    TITLE,
    Evidence,
    Support,
)
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.answerability import JUDGED_HITS

Floats: TypeAlias = NDArray[np.float64]
OWN, FOREIGN = 350, 50
"""Questions sampled from a book's own set, and from each other set."""
OURS = np.array([TITLE, PARAGRAPH, SENTENCE, SHARE, DEFINED, SIZE, BIAS])
ROUNDS = 8
"""Of choosing each question's best hit by the weights, and fitting them to those."""


BOOKS = (*DEV_SETS, SAMPLE)


@dataclass(frozen=True, slots=True)
class Asked:
    about: str
    """The book."""
    question: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class Judged:
    book: str
    asked: Asked
    evidence: Evidence
    score: float
    """In use: with definitions, other languages and misspellings, as `ask` has it."""

    @property
    def kind(self) -> str:
        if self.asked.about != self.book:
            return "foreign"
        return "answerable" if self.asked.answerable else "near miss"


def question_sets(data: Path) -> list[list[Asked]]:
    """The sets of the dev books, of the sample book, and those in readers' words."""
    tests = ROOT / "tests/data"
    named = {one.book: single_questions(data, one.questions) for one in DEV_SETS if one.questions}
    named[SAMPLE.book] = [
        one for one in read_questions(tests / "sample_questions.jsonl") if not one.history
    ]
    sets = [
        [
            Asked(book, one.question, one.answerable)
            for one in questions
            if one.kind != "definition" or book == SAMPLE.book
        ]
        for book, questions in named.items()
    ]
    lines = (tests / "reader_questions.jsonl").read_text(encoding="utf-8").split("\n")
    records = [json.loads(line) for line in lines if line]
    return [
        *sets,
        *(
            [
                Asked(one.book, record["question"], True)
                for record in records
                if record["book"] == one.book and record["lang"] == "en"
            ]
            for one in BOOKS
        ),
    ]


async def judged(app: Application, data: Path) -> list[Judged]:
    sets = [questions for questions in question_sets(data) if questions]
    found: list[Judged] = []
    for one in BOOKS:
        for questions in sets:
            limit = OWN if questions[0].about == one.book else FOREIGN
            sample = random.Random(11).sample(questions, min(limit, len(questions)))
            found += [await _judge(app, one.book, asked) for asked in sample]
        print(f"asked {one.book}", flush=True)
    return found


async def _judge(app: Application, book: str, asked: Asked) -> Judged:
    scope = SearchFilter(books=(BookId(book),))
    query = SearchQuery(asked.question, k=JUDGED_HITS, filter=scope)
    hits = (await app.retrieve.search(query)).hits
    seen = await app.answer.consult.judge.evidence(asked.question, hits, scope.books)
    score = await app.answer.answerability(AskRequest(asked.question, scope))
    return Judged(book, asked, seen, score)


def features(sample: Sequence[Judged]) -> tuple[Floats, Floats]:
    """Questions by hits by weights; and what is added to the sums whatever the weights are."""
    seen = np.zeros((len(sample), JUDGED_HITS, len(OURS)))
    held = np.zeros((len(sample), JUDGED_HITS))
    for at, one in enumerate(sample):
        hits = one.evidence.hits or [Support(0.0, 0.0, 0.0, 0.0, 0.0)]
        for rank in range(JUDGED_HITS):
            hit = hits[min(rank, len(hits) - 1)]
            seen[at, rank, 0] = one.evidence.title
            seen[at, rank, 1:5] = hit.paragraph, hit.sentence, hit.share, hit.defined
            seen[at, rank, 5:] = one.evidence.size, 1.0
            held[at, rank] = PHRASES * hit.phrases
    return seen, held


def fit(sample: Sequence[Judged]) -> Floats:
    """Logistic regression; books weigh the same, and so do own and foreign questions."""
    sample = [one for one in sample if one.kind != "near miss"]
    counts: dict[tuple[str, str], int] = {}
    for one in sample:
        counts[one.book, one.kind] = counts.get((one.book, one.kind), 0) + 1
    weights = np.array([1000 / counts[one.book, one.kind] for one in sample])
    wanted = np.array([float(one.kind == "answerable") for one in sample])
    ridge = np.diag([*[0.1] * (len(OURS) - 1), 0.0])
    every, held = features(sample)
    beta = OURS.copy()
    for _ in range(ROUNDS):
        best = (every @ beta + held).argmax(1)
        rows = np.arange(len(sample))
        seen, more = every[rows, best], held[rows, best]
        for _ in range(50):
            chance = 1 / (1 + np.exp(-(seen @ beta + more)))
            gradient = seen.T @ (weights * (chance - wanted)) + ridge @ beta
            hessian = (seen.T * (weights * chance * (1 - chance))) @ seen + ridge
            beta -= np.linalg.solve(hessian, gradient)
    return beta


def scores(sample: Sequence[Judged], beta: Floats, kind: str) -> Floats:
    of_kind = [one for one in sample if one.kind == kind]
    if not of_kind:
        return np.array([])
    seen, held = features(of_kind)
    values: Floats = 1 / (1 + np.exp(-(seen @ beta + held).max(1)))
    return values


def in_use(sample: Sequence[Judged], kind: str) -> Floats:
    return np.array([one.score for one in sample if one.kind == kind])


def auroc(high: Floats, low: Floats) -> float:
    """Chance that one of `high` is over one of `low`, ties counted half."""
    above = (high[:, None] > low[None, :]).mean()
    return float(above + 0.5 * (high[:, None] == low[None, :]).mean())


def report(found: Sequence[Judged]) -> None:
    print(f"\n{'':20} {'fitted on the other books':^34} | {'in use':^20}")
    print(f"{'book':20} {'AUROC':>6} {'at 5 %':>7}  own, foreign refused | own, foreign refused")
    books = sorted({one.book for one in found})
    for book in books:
        others = [one for one in found if book not in (one.book, one.asked.about)]
        mine = [one for one in found if one.book == book]
        blind = fit(others)
        own, foreign = scores(mine, blind, "answerable"), scores(mine, blind, "foreign")
        caught = (foreign < np.quantile(own, 0.05)).mean()
        print(
            f"{book:20} {auroc(own, foreign):6.3f} {caught:7.1%}  {refused(own, foreign)} "
            f"| {refused(in_use(mine, 'answerable'), in_use(mine, 'foreign'))}"
        )
    print("\nfitted on all: ", fit(found).round(2))
    print("in use:        ", OURS)
    curve(found, books)


def refused(own: Floats, foreign: Floats) -> str:
    return f"{(own < THRESHOLD).mean():8.1%} {(foreign < THRESHOLD).mean():10.1%}"


def curve(found: Sequence[Judged], books: Sequence[str]) -> None:
    print("\nthreshold: own, foreign refused (mean over books); near misses refused, by book")
    misses = sorted({one.book for one in found if one.kind == "near miss"})
    for threshold in (GENERATOR_THRESHOLD, 0.2, 0.3, THRESHOLD, 0.5, 0.7, 0.9, 0.97):
        parts = [
            np.mean(
                [
                    (in_use([x for x in found if x.book == book], kind) < threshold).mean()
                    for book in books
                ]
            )
            for kind in ("answerable", "foreign")
        ]
        near = [
            (in_use([x for x in found if x.book == book], "near miss") < threshold).mean()
            for book in misses
        ]
        print(f"{threshold:5.2f}  " + "  ".join(f"{value:6.1%}" for value in [*parts, *near]))
    for book in misses:
        mine = [one for one in found if one.book == book]
        area = auroc(in_use(mine, "answerable"), in_use(mine, "near miss"))
        print(f"near misses of {book}: AUROC {area:.3f}")


async def run(data: Path, home: Path) -> None:
    async with indexed(data, home, BOOKS) as app:
        found = await judged(app, data)
        report(found)


def main() -> None:
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
