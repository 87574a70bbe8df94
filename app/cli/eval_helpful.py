"""`eval --helpful`: the share of answers that contain the key facts, by kind of question."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

from app.bootstrap.application import application
from app.bootstrap.evaluation import has_facts, read_questions
from app.cli.eval_results import run_of
from app.cli.output import asking, print_json
from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import Helpfulness, Outcome, summary
from app.domain.retrieval.query import SearchMode
from app.services.evaluate import STANDARD_DEPTH, by_kind
from app.services.evaluate_answers import measure_helpfulness
from app.settings import Settings

_Row: TypeAlias = tuple[str, ...]

_HEAD = (
    "kind", "n", *Outcome, "key facts shown", "words shown", f"found in {STANDARD_DEPTH}",
    "gold cited",
)  # fmt: skip


async def evaluate_helpful(arguments: argparse.Namespace, settings: Settings) -> None:
    questions = chosen_questions(arguments, "--helpful")
    async with application(settings) as app:
        with asking(questions) as advance:
            found = await measure_helpfulness(
                app.answer, questions, has_facts, arguments.book, advance
            )
        run = run_of("helpful", arguments, app, questions, STANDARD_DEPTH)
    if arguments.json:
        print_json(
            {
                **summary(found),
                "run": asdict(run),
                "by_kind": by_kind(found, summary),
                "questions": [_row(one) for one in found],
            }
        )
    else:
        print("\n".join(aligned([_HEAD, *_rows(found)])))


def chosen_questions(arguments: argparse.Namespace, option: str) -> Sequence[Question]:
    """Return the questions of the chosen book and half. InputError for incompatible options."""
    _require_default_options(arguments, option)
    book: BookId | None = arguments.book
    chosen = [
        one
        for one in read_questions(arguments.questions)
        if arguments.half in (None, one.half) and (None in (book, one.book) or book == one.book)
    ]
    if not chosen:
        message = f"{arguments.questions}: no question for this book and half"
        raise InputError(message)
    return chosen


def _require_default_options(arguments: argparse.Namespace, option: str) -> None:
    """InputError for an option that would make answers differ from those that readers get."""
    other = (
        arguments.answers
        or arguments.k
        or arguments.rerank
        or arguments.rewrite
        or arguments.report
        or arguments.mode is not SearchMode.HYBRID
    )
    if other:
        message = (
            f"eval {option} measures answers as readers get them: leave out --answers, --k, "
            "--mode, --rerank, --rewrite, --report"
        )
        raise InputError(message)


def _row(one: Helpfulness) -> Mapping[str, object]:
    return {
        "id": one.question.id,
        "kind": one.question.kind,
        "answerable": one.question.answerable,
        "outcome": one.outcome,
        "failure": one.failure,
        "degraded": one.degraded,
        "measures": {name: list(map(float, share)) for name, share in one.shares().items()},
    }


def _rows(results: Sequence[Helpfulness]) -> Iterator[_Row]:
    """Yield one row per kind and a total, for answerable and then for unanswerable questions."""
    for answerable, total in ((True, "all answerable"), (False, "all unanswerable")):
        part = [one for one in results if one.question.answerable is answerable]
        for kind, of_kind in by_kind(part, summary).items():
            yield _cells(kind, of_kind, answerable=answerable)
        if part:
            yield _cells(total, summary(part), answerable=answerable)


def _cells(name: str, of: Mapping[str, float], *, answerable: bool) -> _Row:
    prefix = "answerable" if answerable else "unanswerable"
    outcomes = [_percent(of[f"{prefix}_{one}"]) for one in Outcome]
    if not answerable:
        return (name, f"{of['n']:.0f}", *outcomes, *"----")
    return (
        name,
        f"{of['n']:.0f}",
        *outcomes,
        _percent(of["facts_shown"]),
        f"{of['words_shown']:.0f}",
        _percent(of["found"]),
        _percent(of["cited_gold"]),
    )


def _percent(share: float) -> str:
    return f"{share:.1%}"


def aligned(rows: Sequence[_Row]) -> Iterator[str]:
    """Yield the rows as lines of a Markdown table; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            numbers = "".join(f"{'-' * (width + 1)}:|" for width in widths[1:])
            yield f"|{'-' * (widths[0] + 2)}|{numbers}"
