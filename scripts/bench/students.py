"""Students' questions: the text shown here, compared with LangChain's recursive splitter.

    python scripts/bench/students.py ../shared/data --home /tmp/students-index [--half final]

Asks the questions of `tests/data/student_questions.jsonl` like `textbook-rag eval --helpful`,
offline. The baseline, in the same run: the same files cut as raw text by
RecursiveCharacterTextSplitter (1,000 characters, 200 of overlap), searched by BM25 (bm25s, stemmed,
English stop words), by our local model's vectors, and by both (0.5 each, scaled to 0..1 over all
chunks). It shows the best chunk or the best three. In a conversation the plain search gets the
student's last turn and the question. Prints figures over the answerable questions, and ours minus
theirs with its 95 % interval (paired bootstrap over questions). Needs `scripts/setup bench`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import bm25s
import numpy as np
import Stemmer
from compare import Difference, paired_bootstrap
from dev_sets import DEV_SETS, ROOT, SAMPLE, DevSet, dev_sets_parser, indexed
from langchain_text_splitters import RecursiveCharacterTextSplitter
from numpy.typing import NDArray

from app.adapters.reading.book import read_book
from app.bootstrap.application import Application
from app.bootstrap.question_file import read_questions
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.measurement import Measured, summary
from app.domain.evaluation.metrics import STANDARD_DEPTH, Retrieved, finds_all_gold, has_facts
from app.services.evaluate import EvaluationRequest
from app.services.ingest_plan import IngestRequest
from app.services.ports import Embedder
from app.services.similarity import embed_documents

Floats: TypeAlias = NDArray[np.float64]
Measures: TypeAlias = Mapping[str, float]
"""Values of one question, by metric."""

QUESTIONS = ROOT / "tests/data/student_questions.jsonl"
BOOKS = (
    *(replace(one, exclude=frozenset()) for one in DEV_SETS if one.folder.startswith("books/")),
    SAMPLE,
)
SIZE, OVERLAP = 1_000, 200
SHOWN = {"best chunk": 1, "best 3 chunks": 3}
OURS = "ours"
METRICS = ("found", "facts_shown")


@dataclass(frozen=True, slots=True)
class PlainChunk:
    text: str
    place: Retrieved


class PlainSearch:
    """The splitter's chunks of one book, in memory."""

    def __init__(self, chunks: Sequence[PlainChunk], vectors: Floats, embedder: Embedder) -> None:
        self.chunks = chunks
        self._vectors = vectors
        self._embedder = embedder
        self._stem = Stemmer.Stemmer("english")
        self._bm25 = bm25s.BM25()
        self._bm25.index(self._tokens([one.text for one in chunks]), show_progress=False)

    @classmethod
    async def of(cls, folder: Path, one: DevSet, embedder: Embedder) -> PlainSearch:
        files = [
            document.file for document in read_book(IngestRequest(folder, site=one.site)).documents
        ]
        chunks = [chunk for file in files for chunk in plain_chunks(folder, file)]
        vectors = await embed_documents(embedder, [chunk.text for chunk in chunks])
        return cls(chunks, unit(np.array(vectors, dtype=np.float64)), embedder)

    async def rankings(self, question: Question) -> Mapping[str, Sequence[PlainChunk]]:
        """The chunks by each kind of search, best first."""
        before = [turn.content for turn in question.history if turn.role == "user"][-1:]
        asked = " ".join([*before, question.question])
        (words,) = self._tokens([asked])
        nothing = np.zeros(len(self.chunks))
        sparse = np.asarray(self._bm25.get_scores(words), np.float64) if words else nothing
        query = np.array([await self._embedder.embed_query(asked)], dtype=np.float64)
        dense = (self._vectors @ unit(query).T)[:, 0]
        scores = {
            "BM25": sparse,
            "vectors": dense,
            "both": 0.5 * scaled(sparse) + 0.5 * scaled(dense),
        }
        return {name: self._best(of_chunks) for name, of_chunks in scores.items()}

    def _best(self, scores: Floats) -> list[PlainChunk]:
        return [self.chunks[at] for at in np.argsort(-scores, kind="stable")[:STANDARD_DEPTH]]

    def _tokens(self, texts: list[str]) -> Any:  # noqa: ANN401 - the library has no types
        return bm25s.tokenize(
            texts, stopwords="en", stemmer=self._stem, return_ids=False, show_progress=False
        )


def plain_chunks(folder: Path, file: str) -> Iterator[PlainChunk]:
    text = (folder / file).read_bytes().decode("utf-8")
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=OVERLAP, add_start_index=True
    )
    for chunk in splitter.create_documents([text]):
        start = chunk.metadata["start_index"]
        end = start + len(chunk.page_content)
        if text[start:end] != chunk.page_content:
            message = f"{file}: the splitter misplaced a chunk at {start}"
            raise ValueError(message)
        yield PlainChunk(chunk.page_content, Retrieved(file, ((start, end),)))


def unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def scaled(scores: Floats) -> Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def measures(question: Question, ranking: Sequence[PlainChunk], shown: int) -> Measures:
    text = "\n\n".join(one.text for one in ranking[:shown])
    places = [one.place for one in ranking]
    return {
        "found": finds_all_gold(question, places[:STANDARD_DEPTH]),
        "facts_shown": has_facts(text, question.key_facts),
        "words_shown": len(text.split()),
    }


async def run(data: Path, home: Path, half: str) -> None:
    questions = [one for one in read_questions(QUESTIONS) if half in ("all", one.half)]
    ours: list[Measured] = []
    systems: dict[str, dict[str, Measures]] = {OURS: {}}
    async with indexed(data, home, BOOKS) as app:
        for one in BOOKS:
            about = [question for question in questions if question.book == one.book]
            results, theirs = await measured(app, data / one.folder, one, about)
            ours += results
            systems[OURS] |= {
                row.question.id: row.applicable for row in results if row.question.answerable
            }
            for name, rows in theirs.items():
                systems.setdefault(name, {}).update(rows)
            print(f"asked {one.book}", flush=True)
    report(questions, systems)
    means = summary(ours)
    print("\nours:", ", ".join(f"{name} {value:.4g}" for name, value in means.items()))


async def measured(
    app: Application, folder: Path, one: DevSet, questions: Sequence[Question]
) -> tuple[Sequence[Measured], Mapping[str, Mapping[str, Measures]]]:
    """Our measures, and those of each plain system, by question id."""
    search = await PlainSearch.of(folder, one, app.embedder)
    theirs: dict[str, dict[str, Measures]] = {}
    for question in questions:
        if not question.answerable:
            continue
        for by, ranking in (await search.rankings(question)).items():
            for shown, count in SHOWN.items():
                rows = theirs.setdefault(f"{by}, {shown}", {})
                rows[question.id] = measures(question, ranking, count)
    found = await app.evaluate.run(questions, EvaluationRequest(helpful=True))
    return found.results, theirs


def report(questions: Sequence[Question], systems: Mapping[str, Mapping[str, Measures]]) -> None:
    answerable = [one for one in questions if one.answerable]
    print(f"\n{len(answerable)} answerable questions\n")
    print("| system | found in 5 | ours - it | key facts shown | ours - it | words shown |")
    print("|---|---:|---|---:|---|---:|")
    for name, rows in systems.items():
        against = [compared(systems[OURS], rows, metric, answerable) for metric in METRICS]
        words = fmean(
            rows[one.id]["words_shown"] for one in answerable if "words_shown" in rows[one.id]
        )
        cells = [
            text
            for one in against
            for text in (f"{one.a:.3f}", "" if name == OURS else one.interval())
        ]
        print(f"| {name} | {' | '.join(cells)} | {words:.0f} |")


def compared(
    ours: Mapping[str, Measures],
    theirs: Mapping[str, Measures],
    metric: str,
    questions: Sequence[Question],
) -> Difference:
    a, b = ([rows[one.id][metric] for one in questions] for rows in (theirs, ours))
    return paired_bootstrap(a, b)


def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--half", choices=("development", "final", "all"), default="development")
    options = parser.parse_args()
    asyncio.run(run(options.data, options.home, options.half))


if __name__ == "__main__":
    main()
