"""Quality of the extractive answers: which sentences are quoted, and what they answer.

    python scripts/bench/extraction.py ../shared/data --home /tmp/dev-index

Prints a line for each question set, over up to 250 of its answerable questions, none refused: words
of the answer; precision, the share of citations to a gold paragraph; the share of answers with such
a citation; the share of gold sentences quoted (clapnq, xquad); and the share of the reference
answer's words, in its best wording, that the answer has. With `--without RULE`, the same without a
rule such as "definition score". With --ablate, what the passages show with only one rule and
without each rule (see `answer_ablation.py`).
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from answer_ablation import Asked, questions, students, table
from dev_sets import DEV_SETS, Silent, dev_sets_parser, indexed

from app.bootstrap.books import sample_request
from app.domain.answer import Answer, Citation
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.extraction_input import ALL_RULES, Rule
from app.domain.answering.request import AskRequest
from app.domain.evaluation.gold_question import GoldSpan
from app.domain.retrieval.query import SearchFilter
from app.domain.terms import Terms
from app.services.generators import ExtractiveGenerator
from app.services.phases import Phases

Measure: TypeAlias = tuple[str, float]

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


def measures(question: Known, answer: Answer, book: Path, terms: Terms) -> Iterator[Measure]:
    yield "words", len(answer.answer.split())
    cited = answer.citations
    if question.gold and cited:
        right = [any(_in_paragraph(gold, one) for gold in question.gold) for one in cited]
        yield "precision", sum(right) / len(right)
        yield "any", any(right)
    if question.gold_sentences:
        quoted = [
            any(_is_quoted(gold, one, book) for one in cited) for gold in question.gold_sentences
        ]
        yield "gold sentences", sum(quoted) / len(quoted)
    if question.answers:
        held = terms(answer.answer)
        yield "answer words", max(_share(terms(wording), held) for wording in question.answers)


def _in_paragraph(gold: GoldSpan, citation: Citation) -> bool:
    return citation.file == gold.file and any(
        start < gold.end and gold.start < end for start, end in citation.spans
    )


def _is_quoted(gold: GoldSpan, citation: Citation, book: Path) -> bool:
    """Whether the quote's position in the source overlaps the gold sentence."""
    if not _in_paragraph(gold, citation):
        return False
    source = (book / gold.file).read_bytes().decode("utf-8")
    at = source.find(citation.quote, citation.spans[0][0])
    return 0 <= at < gold.end and gold.start < at + len(citation.quote)


def _share(wanted: frozenset[int], held: frozenset[int]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


async def run(data: Path, home: Path, rules: frozenset[Rule]) -> None:
    async with indexed(data, home) as app:
        consult = replace(app.answer.consult, refusal_policy=RefusalPolicy(0.0, 0.0))
        if not isinstance(app.answer.generator, ExtractiveGenerator):
            message = "the settings choose a model that writes; unset RAG_GENERATOR and CO_API_KEY"
            raise SystemExit(message)
        generator = replace(app.answer.generator, rules=rules)
        answering = replace(app.answer, consult=consult, generator=generator)
        terms = partial(consult.retrieve.analysis.lexical.terms, language="en")
        print(f"\n{'set':20}" + "".join(f"{column:>16}" for column in COLUMNS))
        for one in DEV_SETS:
            if not one.questions:
                continue
            asked = list(known(data / "qa" / one.questions / "questions.jsonl"))
            values: dict[str, list[float]] = defaultdict(list)
            for question in random.Random(5).sample(asked, min(SAMPLE, len(asked))):
                request = AskRequest(question.question, SearchFilter(books=(one.book,)))
                answer = await answering.answer(request)
                for name, value in measures(question, answer, data / one.folder, terms):
                    values[name].append(value)
            cells = [
                f"{sum(values[name]) / len(values[name]):16.3f}" if values[name] else f"{'-':>16}"
                for name in COLUMNS
            ]
            print(f"{one.questions:20}" + "".join(cells), flush=True)


async def ablate(data: Path, home: Path) -> None:
    every: dict[str, list[Asked]] = defaultdict(list)
    async with indexed(data, home) as app:
        async for name, asked in questions(app, data):
            every[name].append(asked)
    books = [
        replace(one, exclude=frozenset()) for one in DEV_SETS if one.folder.startswith("books")
    ]
    async with indexed(data, home / "students", books) as app:
        await app.ingest.run(sample_request(app.settings), Phases(Silent()))
        async for name, asked in students(app):
            every[name].append(asked)
    table(every)


def main() -> None:
    parser = dev_sets_parser(__doc__)
    parser.add_argument("--ablate", action="store_true", help="measure every rule by itself")
    parser.add_argument("--without", type=Rule, choices=[*Rule], action="append", default=[])
    options = parser.parse_args()
    if options.ablate:
        asyncio.run(ablate(options.data, options.home))
    else:
        asyncio.run(run(options.data, options.home, ALL_RULES - {*options.without}))


if __name__ == "__main__":
    main()
