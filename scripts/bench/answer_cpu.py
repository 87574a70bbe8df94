"""CPU time of an offline answer after its search.

    python scripts/bench/answer_cpu.py --home /tmp/students-index

Asks the answerable questions of `tests/data/student_questions.jsonl` twice, one after another, from
an index of the books they name, made by `scripts/bench/students.py` or `textbook-rag ingest`.
Prints for each book the median and the 90th percentile in milliseconds, of the whole process and of
the main thread; the rest is the local model's tokenizer in other threads. The first round reads
texts that no question has read before.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from dev_sets import ROOT

from app.adapters.question_file import read_questions
from app.bootstrap.application import Application, application
from app.domain.evaluation.gold_question import Question
from app.services.analyse_question import AnalysedQuery
from app.services.evaluate import ask_request
from app.services.retrieve import RetrievalResult, Retrieve
from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Clock:
    process: float
    thread: float

    @classmethod
    def now(cls) -> Clock:
        return cls(time.process_time(), time.thread_time())


@dataclass(slots=True)
class SearchEnd:
    """Remembers when the first search of an answer ended."""

    at: Clock | None = None


async def milliseconds(app: Application, question: Question, end: SearchEnd) -> Clock | None:
    """Return the CPU time after the search; None if nothing was searched."""
    end.at = None
    async with aclosing(app.answer.stream(ask_request(question, question.book))) as events:
        async for _ in events:
            pass
    done = Clock.now()
    if end.at is None:
        return None
    return Clock((done.process - end.at.process) * 1e3, (done.thread - end.at.thread) * 1e3)


def watch_search(end: SearchEnd) -> None:
    """Record the end of each answer's first search in `end`."""
    find = Retrieve.find

    async def watched(self: Retrieve, asked: AnalysedQuery) -> RetrievalResult:
        found = await find(self, asked)
        end.at = end.at or Clock.now()
        return found

    Retrieve.find = watched  # type: ignore[method-assign]


def row(label: str, times: Sequence[Clock]) -> str:
    figures = [
        f"{value:8.1f}"
        for values in ([one.process for one in times], [one.thread for one in times])
        for value in (median(values), quantiles(values, n=10)[-1])
    ]
    return f"{label:32} {len(times):4} {' '.join(figures)}"


async def run(home: Path) -> None:
    settings = Settings(home=home, embedder="local", generator="extractive")
    questions = read_questions(ROOT / "tests/data/student_questions.jsonl")
    end = SearchEnd()
    watch_search(end)
    async with application(settings) as app:
        print(f"{'':32}    n  process      p90   thread      p90")
        for label in ("first", "again"):
            times: dict[str, list[Clock]] = defaultdict(list)
            for question in questions:
                taken = await milliseconds(app, question, end) if question.answerable else None
                if taken:
                    times[str(question.book)].append(taken)
            for book, taken_by_book in times.items():
                print(row(f"{label}, {book}", taken_by_book))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--home", type=Path, required=True, help="where the index is kept")
    asyncio.run(run(parser.parse_args().home))


if __name__ == "__main__":
    main()
