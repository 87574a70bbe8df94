"""Calibrate refusals: questions of a book against those of the other books.

    python scripts/bench/refusal.py ../shared/data --home /tmp/dev-index [--own 350 --foreign 50]

Prints, one line per book, how well the answerability score separates answerable from out-of-domain
questions with weights fitted on the other books (AUROC). Then prints the weights fitted on all
books, and the three answers of `ask` with the values in
`app.domain.answering.answerability`: per book, by threshold, and for near misses, that is questions
whose page is in the book, but not the answer.
Students' questions are those of the development half; their books are complete, those of the other
sets lack the exercises that their questions were made from. Definitions ("organelle that makes
ATP") are left out: they are no questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from dev_sets import DEV_SETS, ROOT, SAMPLE, dev_sets_parser, indexed, single_questions
from numpy.typing import NDArray
from refusal_thresholds import Scored, thresholds

from app.adapters.question_file import read_questions
from app.bootstrap.application import Application
from app.domain.answer import Confidence
from app.domain.answering.answerability import (
    BIAS,
    DEFINED,
    PARAGRAPH,
    PHRASES,
    SHARE,
    Support,
)
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.retrieval.query import SearchFilter, Turn
from app.services.answerability_scorer import SCORED_HITS

Floats: TypeAlias = NDArray[np.float64]
OURS = np.array([PARAGRAPH, SHARE, DEFINED, BIAS])
ROUNDS = 8
"""Rounds of choosing each question's best hit by the weights, and fitting the weights to it."""

FEWEST = 30
"""A kind with fewer questions about a book weighs less in the fit."""

WHOLE = replace(DEV_SETS[0], book=BookId("openstax-biology-whole"), exclude=frozenset())
"""The only dev book that is complete for students' questions, but not for the others."""
BOOKS = (*DEV_SETS, SAMPLE, WHOLE)


@dataclass(frozen=True, slots=True)
class Asked:
    about: str
    """The book."""
    question: str
    kind: str
    """"answerable", "near miss" or "foreign", relative to that book."""
    history: tuple[Turn, ...] = ()
    own_words: bool = False
    """Whether a reader or a student wrote it without seeing the text of the answer."""


@dataclass(frozen=True, slots=True)
class Judged:
    book: str
    source: str
    """"sets" or "students"."""
    asked: Asked
    readings: tuple[Sequence[Support], ...]
    """Scores of the question as asked; the best counts."""
    score: float
    """Scores in use: with abbreviations and misspellings resolved, as in `ask`."""
    confidence: Confidence

    @property
    def kind(self) -> str:
        ours = self.asked.about == self.book or self.source == "students"
        return self.asked.kind if ours else "foreign"


def question_sets(data: Path) -> list[list[Asked]]:
    """The sets of the dev books, of the sample book, and the questions in readers' words."""
    tests = ROOT / "tests/data"
    named = {one.book: single_questions(data, one.questions) for one in DEV_SETS if one.questions}
    named[SAMPLE.book] = [
        one for one in read_questions(tests / "sample_questions.jsonl") if not one.history
    ]
    sets = [
        [
            Asked(book, one.question, "answerable" if one.answerable else "near miss")
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
                Asked(one.book, record["question"], "answerable", own_words=True)
                for record in records
                if record["book"] == one.book and record["lang"] == "en"
            ]
            for one in BOOKS
        ),
    ]


def students_questions() -> list[Asked]:
    kinds = {"unanswerable_near": "near miss", "off_topic": "foreign"}
    return [
        Asked(
            str(one.book),
            one.question,
            kinds.get(one.kind, "answerable"),
            one.history,
            own_words=True,
        )
        for name in ("student_questions", "confidence_questions")
        for one in read_questions(ROOT / f"tests/data/{name}.jsonl")
        if one.half == "development"
    ]


async def judged(app: Application, data: Path, own: int, foreign: int) -> list[Judged]:
    sets = [questions for questions in question_sets(data) if questions]
    found: list[Judged] = []
    for one in BOOKS:
        if one is WHOLE:
            continue
        for questions in sets:
            limit = own if questions[0].about == one.book else foreign
            sample = random.Random(11).sample(questions, min(limit, len(questions)))
            found += [await _judge(app, one.book, "sets", asked) for asked in sample]
        print(f"asked {one.book}", flush=True)
    for asked in students_questions():
        book = WHOLE.book if asked.about == DEV_SETS[0].book else asked.about
        found.append(await _judge(app, book, "students", asked))
    return found


async def _judge(app: Application, book: str, source: str, asked: Asked) -> Judged:
    scope = SearchFilter(books=(BookId(book),))
    request = AskRequest(asked.question, scope, history=asked.history)
    consult = app.answer.consult
    read = await consult.read(request)
    readings = [
        await consult.scorer.support(reading, read.hits) for reading in read.analysis.readings
    ]
    return Judged(book, source, asked, tuple(readings), read.score, read.confidence)


def features(sample: Sequence[Judged]) -> tuple[Floats, Floats]:
    """Questions by readings' hits by weights; and the sums' part with fixed weights."""
    slots = SCORED_HITS * max(len(one.readings) for one in sample)
    seen = np.zeros((len(sample), slots, len(OURS)))
    held = np.zeros((len(sample), slots))
    for at, one in enumerate(sample):
        hits = [hit for each in one.readings for hit in each] or [Support(0.0, 0.0, 0.0, 0.0)]
        for slot in range(slots):
            hit = hits[min(slot, len(hits) - 1)]
            seen[at, slot] = hit.paragraph, hit.share, hit.defined, 1.0
            held[at, slot] = PHRASES * hit.phrases
    return seen, held


def fit(sample: Sequence[Judged]) -> Floats:
    """Logistic regression without near misses; books have equal weight, and so have both kinds."""
    sample = [one for one in sample if one.kind != "near miss"]
    parts = [(one.source, one.book, one.kind) for one in sample]
    counts = Counter(parts)
    weights = np.array([1000 / max(counts[part], FEWEST) for part in parts])
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
    """Probability that one of `high` exceeds one of `low`, ties count half; nan if one is empty."""
    if not len(high) or not len(low):
        return float("nan")
    above = (high[:, None] > low[None, :]).mean()
    return float(above + 0.5 * (high[:, None] == low[None, :]).mean())


def parts_of(found: Sequence[Judged]) -> dict[str, list[Judged]]:
    """The judged questions by book; students' questions separately."""
    names = sorted({one.book for one in found if one.source == "sets"})
    parts = {
        name: [one for one in found if one.book == name and one.source == "sets"] for name in names
    }
    return {**parts, "students": [one for one in found if one.source == "students"]}


def blind_scores(found: Sequence[Judged], part: Sequence[Judged]) -> dict[str, Floats]:
    """The scores by kind with weights fitted without the questions' own books."""
    books = {one.book.removesuffix("-whole") for one in part}
    kept: dict[str, list[float]] = {"answerable": [], "near miss": [], "foreign": []}
    for book in sorted(books):
        names = {book, f"{book}-whole"}
        beta = fit([one for one in found if not names & {one.book, one.asked.about}])
        mine = [one for one in part if one.book in names]
        for kind, values in kept.items():
            values.extend(scores(mine, beta, kind).tolist())
    return {kind: np.array(values) for kind, values in kept.items()}


def report(found: Sequence[Judged]) -> None:
    print("\nAUROC with weights fitted on the other books | in use; then what `ask` says: of the")
    print("answerable refused, uncertain; of the out-of-domain refused, answered; of near misses")
    print("refused, answered. Numbers of questions of the three kinds come last.\n")
    print("| book | out of domain | near misses | answerable | out of domain | near misses | n |")
    print("|---|---|---|---:|---:|---:|---:|")
    for name, part in parts_of(found).items():
        blind = blind_scores(found, part)
        used = {kind: in_use(part, kind) for kind in blind}
        areas = (
            " / ".join(f"{auroc(one['answerable'], one[kind]):.3f}" for one in (blind, used))
            for kind in ("foreign", "near miss")
        )
        shares = (
            said(part, "answerable", Confidence.NOT_IN_BOOK, Confidence.UNCERTAIN),
            said(part, "foreign", Confidence.NOT_IN_BOOK, Confidence.ANSWERED),
            said(part, "near miss", Confidence.NOT_IN_BOOK, Confidence.ANSWERED),
        )
        counts = " + ".join(str(len(scores)) for scores in used.values())
        print(f"| {name} | {' | '.join([*areas, *shares])} | {counts} |")
    print("\nfitted on all: ", fit(found).round(2))
    print("in use:        ", OURS)
    curve(parts_of(found))
    own = [one for one in found if one.asked.own_words and one.kind != "foreign"]
    thresholds(
        [
            Scored(one.book.removesuffix("-whole"), one.kind == "answerable", one.score)
            for one in own
        ]
    )


def said(part: Sequence[Judged], kind: str, *answers: Confidence) -> str:
    """The share of each of these answers to questions of the kind."""
    given = [one.confidence for one in part if one.kind == kind]
    if not given:
        return "-"
    return " / ".join(f"{given.count(answer) / len(given):.1%}" for answer in answers)


def curve(parts: dict[str, list[Judged]]) -> None:
    print("\nshare below each threshold, of the score in use\n")
    columns = [
        (f"{name}: {kind}", values)
        for name, part in parts.items()
        for kind in ("answerable", "foreign", "near miss")
        if len(values := in_use(part, kind))
        and (name == "students" or (name == "clapnq-dev" and kind == "near miss"))
    ]
    means = {
        f"all books: {kind}": [in_use(part, kind) for name, part in parts.items()]
        for kind in ("answerable", "foreign")
    }
    print("| threshold |", " | ".join([*means, *(name for name, _ in columns)]), "|")
    print("|---:|" + "---:|" * (len(means) + len(columns)))
    for threshold in (0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9):
        cells = [np.mean([(one < threshold).mean() for one in each]) for each in means.values()]
        cells += [(values < threshold).mean() for _, values in columns]
        print(f"| {threshold:.2f} |", " | ".join(f"{cell:.1%}" for cell in cells), "|")


async def run(options: argparse.Namespace) -> None:
    async with indexed(options.data, options.home, BOOKS) as app:
        report(await judged(app, options.data, options.own, options.foreign))


def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--own", type=int, default=350, help="questions from a book's own set")
    parser.add_argument("--foreign", type=int, default=50, help="and from each other set")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
