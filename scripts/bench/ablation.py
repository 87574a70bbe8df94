"""The gain of each retrieval stage: every stage on and off, on every development set.

    python scripts/bench/ablation.py ../shared/data --home /tmp/ablation-index [--sample 300]
        [--only all "no pairs"]

Prints a Markdown table: hit@1 / hit@5 of every set; for chroma-dev recall@5 and nDCG@10; for the
quizzes of the Rust book the page instead of the section. Offline, local model, embedded index.
`--sample` questions of each kind are drawn with a fixed seed; 0 uses all of them.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from dev_sets import DEV_SETS, DevSet, dev_sets_parser, indexed

from app.adapters.question_file import read_questions
from app.bootstrap.application import Application
from app.domain.book_id import BookId
from app.domain.document import BlockKind
from app.domain.evaluation.gold_question import Question
from app.domain.retrieval.fusion import Fusion
from app.domain.retrieval.query import SearchMode
from app.domain.retrieval.rescoring import RescoringWeights
from app.services.evaluate import Evaluate, EvaluationRequest
from app.services.retrieve import Retrieve

_QUIZZES = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION})
SETS = (
    *(
        replace(one, exclude=one.exclude | _QUIZZES) if one.book == "hf-course" else one
        for one in DEV_SETS
        if one.questions
    ),
    DevSet(BookId("xquad-es"), "qa/xquad-es/corpus", "xquad-es"),
)


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    fusion: Fusion = Fusion.WEIGHTED
    mode: SearchMode = SearchMode.HYBRID
    weights: RescoringWeights | None = field(default_factory=RescoringWeights)
    """None: no second stage."""
    history: bool = True

    def of(self, retrieve: Retrieve) -> Retrieve:
        stage = retrieve.feature_reranker
        if stage is not None and self.weights is not None:
            stage = replace(stage, weights=self.weights)
        feature_reranker = stage if self.weights is not None else None
        return replace(retrieve, fusion=self.fusion, feature_reranker=feature_reranker)


FEATURES = [one.name for one in fields(RescoringWeights) if one.name != "glossary"]
_MARKS = {"definition": 0.0, "defined": 0.0, "glossary": 0.0}
"""Features that need marked terms."""
VARIANTS = (
    Variant("all"),
    *(
        Variant(f"no {name}", weights=replace(RescoringWeights(), **{name: 0.0}))
        for name in FEATURES
    ),
    Variant("no mark of a term", weights=replace(RescoringWeights(), **_MARKS)),
    Variant(
        "  nor name or opening",
        weights=replace(RescoringWeights(), **_MARKS, named=0.0, opening=0.0),
    ),
    Variant("no second stage", weights=None),
    Variant("  and RRF", Fusion.RRF, weights=None),
    Variant("  and DBSF", Fusion.DBSF, weights=None),
    Variant("BM25 alone", mode=SearchMode.SPARSE),
    Variant("vectors alone", mode=SearchMode.DENSE),
    Variant("no history", history=False),
)


def sampled(data: Path, one: DevSet, size: int) -> dict[str, list[Question]]:
    """Answerable questions by table column; those of the biology book by kind."""
    columns: dict[str, list[Question]] = {}
    for question in read_questions(data / "qa" / one.questions / "questions.jsonl"):
        if question.answerable:
            name = question.kind if one.book == "openstax-biology" else one.book
            columns.setdefault(name, []).append(question)
    if size:
        draw = random.Random(7)
        columns = {name: draw.sample(all_, min(size, len(all_))) for name, all_ in columns.items()}
    return columns


async def measured(
    app: Application, variant: Variant, book: str, questions: Sequence[Question]
) -> Mapping[str, float]:
    if not variant.history:
        questions = [replace(question, history=()) for question in questions]
    evaluate = Evaluate(variant.of(app.retrieve), time.perf_counter)
    request = EvaluationRequest(book=BookId(book), mode=variant.mode)
    return (await evaluate.run(questions, request)).summary()


def cell(name: str, summary: Mapping[str, float]) -> str:
    keys = ("hit@1", "hit@5")
    if name == "chroma-dev":
        keys = ("recall@5", "ndcg@10")
    if name == "rust-book-quizzes":
        keys = ("hit@5", "page_hit@5")
    return " / ".join(f"{summary[key]:.3f}".removeprefix("0") for key in keys)


async def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--only", nargs="+", metavar="VARIANT", help="these rows alone")
    arguments = parser.parse_args()
    columns = {
        name: (one.book, questions)
        for one in SETS
        for name, questions in sampled(arguments.data, one, arguments.sample).items()
    }
    async with indexed(arguments.data, arguments.home, SETS) as app:
        print("| |", " | ".join(columns), "| p50 / p95 ms |")
        print("|---|" + "---|" * (len(columns) + 1))
        for variant in VARIANTS:
            if arguments.only and variant.name.strip() not in arguments.only:
                continue
            row, times = [], []
            for name, (book, questions) in columns.items():
                summary = await measured(app, variant, book, questions)
                row.append(cell(name, summary))
                times.append((summary["p50_ms"], summary["p95_ms"]))
            p50, p95 = (max(values) for values in zip(*times, strict=True))
            print(f"| {variant.name} |", " | ".join(row), f"| {p50:.1f} / {p95:.1f} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
