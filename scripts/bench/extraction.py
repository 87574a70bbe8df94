"""How good the extractive answers are: which sentences are quoted, and what they answer.

    python scripts/bench/extraction.py ../shared/data --home /tmp/dev-index

A line for each question set, over up to 250 answerable questions that are not refused here, even
if they would be: words of the answer; precision, the share of quotes from a gold paragraph; the
share of answers with at least one such quote; the share of the gold sentences that are quoted
(clapnq, xquad); and the share of answers that hold the known answer's words (its best wording).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from dev_sets import DEV_SETS, DevSet, indexed

from app.adapters.sentences import split_sentences
from app.bootstrap import Application
from app.domain.answering.extractive import extract
from app.domain.retrieval.query import ContextPassage, SearchFilter, SearchQuery
from app.domain.retrieval.question import GoldSpan

SAMPLE = 250
COLUMNS = ("words", "precision", "any", "gold sentences", "answer words")


@dataclass(frozen=True, slots=True)
class Known:
    question: str
    gold: tuple[GoldSpan, ...]
    gold_sentences: tuple[GoldSpan, ...]
    answers: tuple[str, ...]


def known(path: Path) -> Iterator[Known]:
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        record = json.loads(line)
        if record["answerable"] and not record.get("history") and record["kind"] != "definition":
            answer = record.get("answer") or ()
            yield Known(
                record["question"],
                _spans(record["gold"]),
                _spans(record.get("gold_fine") or ()),
                (answer,) if isinstance(answer, str) else tuple(answer),
            )


def _spans(records: Sequence[dict[str, object]]) -> tuple[GoldSpan, ...]:
    return tuple(
        GoldSpan(str(r["file"]), int(str(r["start"])), int(str(r["end"]))) for r in records
    )


def _meets(span: GoldSpan, file: str, start: int, end: int) -> bool:
    return span.file == file and start < span.end and span.start < end


async def measure(app: Application, one: DevSet, question: Known) -> Iterator[tuple[str, float]]:
    scope = SearchFilter(books=(one.book,))
    found = await app.retrieve.search(SearchQuery(question.question, k=8, filter=scope))
    context = app.retrieve.context(found.hits, app.settings.context_tokens)
    ceilings = app.answer.ceilings
    terms = cache(partial(ceilings.terms, language="en"))
    weights = await ceilings.of(terms(question.question), scope.books)
    answer = extract(question.question, context, weights, terms, split_sentences)
    quotes = [(context[unit.passage], unit.start, unit.end) for _, unit in answer.claims]
    words = terms(answer.text)
    best = max((_share(terms(wording), words) for wording in question.answers), default=None)
    return _measures(question, quotes, len(answer.text.split()), best)


def _measures(
    question: Known,
    quotes: Sequence[tuple[ContextPassage, int, int]],
    words: int,
    best: float | None,
) -> Iterator[tuple[str, float]]:
    yield "words", words
    if question.gold and quotes:
        right = [
            any(
                _meets(gold, one.file, one.passage.start, one.passage.end) for gold in question.gold
            )
            for one, _, _ in quotes
        ]
        yield "precision", sum(right) / len(right)
        yield "any", any(right)
    if question.gold_sentences:
        quoted = [
            any(
                _meets(gold, one.file, one.passage.start + start, one.passage.start + end)
                for one, start, end in quotes
            )
            for gold in question.gold_sentences
        ]
        yield "gold sentences", sum(quoted) / len(quoted)
    if best is not None:
        yield "answer words", best


def _share(wanted: frozenset[int], held: frozenset[int]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


async def run(data: Path, home: Path) -> None:
    async with indexed(data, home) as app:
        print(f"\n{'set':20}" + "".join(f"{column:>16}" for column in COLUMNS))
        for one in DEV_SETS:
            if not one.questions:
                continue
            asked = list(known(data / "qa" / one.questions / "questions.jsonl"))
            values: dict[str, list[float]] = defaultdict(list)
            for question in random.Random(5).sample(asked, min(SAMPLE, len(asked))):
                for name, value in await measure(app, one, question):
                    values[name].append(value)
            cells = [
                f"{sum(values[name]) / len(values[name]):16.3f}" if values[name] else f"{'-':>16}"
                for name in COLUMNS
            ]
            print(f"{one.questions:20}" + "".join(cells), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--home", type=Path, required=True, help="where the index is kept")
    options = arguments.parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
