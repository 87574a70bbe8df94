"""Fits the weights by which offline answers choose passages, and measures each feature.

    python scripts/bench/fit_passages.py ../shared/data --home /tmp/passages [--ablate]

Asks the students' development questions, the table questions, the sample book's questions and
questions of the development sets, offline. The model is a conditional logistic regression of gold
paragraph against the others of the question's context, the features those of
`app/domain/answering/relevance.py`. Prints the weights fitted on all books, and what is shown with
weights that were fitted without the question's book. `--ablate` refits without each feature and
prints what is shown, minus the same with all features, with its 95 % interval (paired bootstrap
over questions): the key facts where the questions have them, else a gold paragraph.
"""

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from compare import paired_bootstrap
from dev_sets import DEV_SETS, ROOT, SAMPLE, DevSet, dev_sets_parser, indexed
from numpy.typing import NDArray
from students import BOOKS

from app.adapters.sentences import split_sentences
from app.bootstrap.application import Application
from app.bootstrap.question_file import read_questions
from app.domain.answering.extractive import answer_of, best_passages
from app.domain.answering.passages import word_limit
from app.domain.answering.relevance import Candidate, Features, Relevance, candidates
from app.domain.book_id import BookId
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.metrics import Retrieved, first_hit, has_facts
from app.domain.retrieval.query import ContextPassage
from app.domain.scripts import word_count
from app.services.evaluate import ask_request

Floats: TypeAlias = NDArray[np.float64]

SITES = (
    DevSet(BookId("typer"), "sites/typer", site=None),
    DevSet(BookId("rust-by-example"), "sites/rust-by-example", site=None),
)
OF_BOOKS = {
    "students": "student_questions.jsonl",
    "tables": "table_questions.jsonl",
    "sample": "sample_questions.jsonl",
}
"""Sets about whole books, in `tests/data`."""
OF_CORPORA = {
    "biology terms": ("openstax-biology", "term"),
    "biology definitions": ("openstax-biology", "definition"),
    "chroma-dev": ("chroma-dev", ""),
    "clapnq-dev": ("clapnq-dev", ""),
    "fairytaleqa": ("fairytaleqa-val", ""),
    "xquad-en": ("xquad-en", ""),
}
"""Sets of the development data: their questions, and the kind."""
MOST = 200
"""Questions of a set."""
IN_READERS_WORDS = {"students": 3.0, "tables": 1.5}
"""Weight of a question in the fit; 1 in other sets, whose questions were made from their texts."""
PENALTY = 1.0
"""Of the squared weights; the features are 0 to about 1."""
ROUNDS = 3
"""Of choosing each paragraph's best unit by the weights, and fitting these."""


@dataclass(slots=True)
class Case:
    """A question with its context."""

    set: str
    book: str
    question: Question
    relevance: Relevance
    candidates: Sequence[Candidate]
    paragraphs: Sequence[Floats] = field(init=False)
    """The features of the units of each paragraph that may be shown."""
    gold: Floats = field(init=False)
    """1 for the gold ones among those paragraphs."""

    def __post_init__(self) -> None:
        scored = [one for one in self.relevance.scored(self.candidates) if one.scored]
        self.paragraphs = [_matrix(one) for one in scored]
        gold = [is_gold(self.question, one.source) for one in scored]
        self.gold = np.array(gold, dtype=np.float64)

    @property
    def weight(self) -> float:
        return IN_READERS_WORDS.get(self.set, 1.0)

    def shown(self, weights: Features) -> tuple[bool, int]:
        """Return whether the passages have the key facts, or a gold paragraph; and their words."""
        scored = replace(self.relevance, weights=weights).scored(self.candidates)
        limit = word_limit(len(self.relevance.question.weights))
        answer = answer_of(best_passages(scored, limit))
        text = "\n\n".join(one.text for one in answer.passages)
        if facts := self.question.key_facts:
            return has_facts(text, facts), word_count(text)
        ids = {paragraph for one in answer.passages for paragraph in one.paragraph_ids}
        quoted = (one.source for one in self.candidates)
        gold = (one for one in quoted if one.passage.paragraph_id in ids)
        return any(is_gold(self.question, one) for one in gold), word_count(text)


def _matrix(paragraph: Candidate) -> Floats:
    return np.array([one.features for one in paragraph.scored], dtype=np.float64)


def is_gold(question: Question, one: ContextPassage) -> bool:
    place = Retrieved(one.file, ((one.passage.start, one.passage.end),))
    return bool(question.gold) and first_hit(question, [place]) == 1


async def cases(data: Path, home: Path) -> list[Case]:
    found: list[Case] = []
    async with indexed(data, home / "books", (*BOOKS, *SITES)) as app:
        for name, file in OF_BOOKS.items():
            asked = [
                one for one in read_questions(ROOT / "tests/data" / file) if one.half != "final"
            ]
            found += await _cases(app, name, asked, SAMPLE.book if name == "sample" else None)
    async with indexed(data, home / "corpora", DEV_SETS) as app:
        for name, (book, kind) in OF_CORPORA.items():
            asked = read_questions(data / "qa" / book / "questions.jsonl")
            asked = [one for one in asked if one.answerable and one.kind.startswith(kind)]
            some = random.Random(7).sample(asked, min(MOST, len(asked)))
            found += await _cases(app, name, some, BookId(book))
    return found


async def _cases(
    app: Application, name: str, questions: Sequence[Question], book: BookId | None
) -> list[Case]:
    consult = app.evaluate.answering.consult
    found = []
    for question in questions:
        read = await consult.read(ask_request(question, book)) if question.answerable else None
        if read is None:
            continue
        analysis = read.analysis
        paragraphs = candidates(analysis, read.context, split_sentences)
        compared = [one.compared(unit) for one in paragraphs for unit in one.units]
        cosines = await consult.retrieve.analysis.similarity.similarities(
            analysis.vector, compared, analysis.language
        )
        relevance = Relevance(analysis, cosines)
        found.append(Case(name, str(book or question.book), question, relevance, paragraphs))
    print(f"{name}: {len(found)} questions", flush=True)
    return found


def fitted(cases: Sequence[Case], used: Sequence[int]) -> Features:
    """Return the weights with the greatest penalised likelihood; 0 for features not in `used`."""
    weights = np.zeros(len(Features._fields))
    weights[used] = 1.0
    informative = [one for one in cases if 0 < one.gold.sum() < len(one.gold)]
    for _ in range(ROUNDS):
        best = [_best_units(one, weights)[:, used] for one in informative]
        weights[used] = _newton(informative, best, weights[used])
    return Features(*map(float, weights))


def _best_units(case: Case, weights: Floats) -> Floats:
    """Return the features of each paragraph's unit with the highest score."""
    return np.array([units[np.argmax(units @ weights)] for units in case.paragraphs])


def _newton(cases: Sequence[Case], features: Sequence[Floats], weights: Floats) -> Floats:
    for _ in range(12):
        slope, curve = -PENALTY * weights, PENALTY * np.eye(len(weights))
        for case, rows in zip(cases, features, strict=True):
            scores = np.exp(rows @ weights - (rows @ weights).max())
            every = scores / scores.sum()
            gold = case.gold / case.gold.sum()
            mean = every @ rows
            slope += case.weight * (gold @ rows - mean)
            curve += case.weight * ((rows.T * every) @ rows - np.outer(mean, mean))
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def left_out(cases: Sequence[Case], used: Sequence[int]) -> dict[str, Features]:
    """Return for each book the weights fitted on the others."""
    return {
        book: fitted([one for one in cases if one.book != book], used)
        for book in sorted({one.book for one in cases})
    }


def by_set(cases: Sequence[Case]) -> Iterator[tuple[str, list[int]]]:
    for name in (*OF_BOOKS, *OF_CORPORA):
        yield name, [at for at, one in enumerate(cases) if one.set == name]


def report(cases: Sequence[Case], weights: Mapping[str, Features]) -> None:
    shown = [one.shown(weights[one.book]) for one in cases]
    for name, places in by_set(cases):
        right, words = np.mean([shown[at] for at in places], axis=0)
        print(f"| {name} | {len(places)} | {100 * right:.1f} | {words:.0f} |")


def ablate(cases: Sequence[Case], before: Sequence[bool]) -> None:
    for left in range(len(Features._fields)):
        used = [at for at in range(len(Features._fields)) if at != left]
        weights = fitted(cases, used)
        after = [one.shown(weights)[0] for one in cases]
        cells = []
        for _, places in by_set(cases):
            one = paired_bootstrap(*([row[at] for at in places] for row in (before, after)))
            cells.append(one.interval(100, 1))
        print(f"| {Features._fields[left]} | {' | '.join(cells)} |", flush=True)


async def run(data: Path, home: Path, *, ablates: bool) -> None:
    found = await cases(data, home)
    every = range(len(Features._fields))
    weights = fitted(found, every)
    for name, value in weights._asdict().items():
        print(f"    {name}={value:.2f},")
    print("\n| set, each book left out of the fit | n | shown | words |\n|---|---:|---:|---:|")
    report(found, left_out(found, every))
    if ablates:
        print(f"\n| without | {' | '.join(name for name, _ in by_set(found))} |")
        ablate(found, [one.shown(weights)[0] for one in found])


def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--ablate", action="store_true")
    options = parser.parse_args()
    asyncio.run(run(options.data, options.home, ablates=options.ablate))


if __name__ == "__main__":
    main()
