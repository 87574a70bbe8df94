"""`eval`: measures on questions with known answers, and compares with an earlier measurement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from app.bootstrap.evaluation import read_questions
from app.cli.eval_compare import (
    difference_json,
    differences_of,
    differences_table,
    read_measurement,
    require_same,
)
from app.cli.eval_report import measurement_json, report_lines
from app.cli.options import Json, OneBook
from app.cli.output import print_json, remark, remark_each
from app.cli.progress import phases
from app.cli.running import command, open_application
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import fingerprint
from app.domain.evaluation.measurement import Measure
from app.services.evaluate import EvaluationRequest
from app.settings import Settings


@command("eval")
async def evaluate(
    settings: Settings,
    questions: Annotated[Path, Argument(metavar="QUESTIONS.jsonl", help="With known answers.")],
    book: OneBook = None,
    k: Annotated[
        int | None, Option(min=1, max=100, help="Chunks to retrieve (5; for answers 8).")
    ] = None,
    helpful: Annotated[bool, Option("--helpful", help="Measure answers and refusals.")] = False,
    compare: Annotated[
        Path | None, Option(metavar="BEFORE.json", help="An earlier output of --json.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure retrieval or answers on questions with known answers.

    A search is measured as readers get it: with the models that the settings name. --helpful
    measures the content, citations and refusals of answers, --compare adds the differences to an
    earlier measurement, with their intervals.
    """
    of = Measure.HELPFUL if helpful else Measure.RETRIEVAL
    request = EvaluationRequest(book=book, k=k or 0, of=of)
    before = read_measurement(compare) if compare else None
    # Those about the book, and those that name none.
    asked = [one for one in read_questions(questions) if book in (None, one.book) or not one.book]
    if not asked:
        message = f"{questions}: no question for this book"
        raise InputError(message)
    async with open_application(settings) as app:
        run: Mapping[str, str | int] = {
            "of": request.of,
            "questions": fingerprint(asked),
            "book": book or "",
            "k": request.chunks,
            "embedder": app.embedder.space,
            "generator": app.answer.model,
        }
        if before:
            require_same(before, run, [one.id for one in asked], f"{compare} and this measurement")
        with phases().phase("ask", len(asked), "questions") as advance:
            found = await app.evaluate.run(asked, request, advance)
    remark_each("warning: a gold passage's file is not in the index", found.missing)
    if found.missing:
        remark("gold files are relative to the ingested folder; are these questions for this book?")
    measured = measurement_json(found, run)
    differences = differences_of(before, measured) if before else {}
    if json:
        compared = {"compared": {name: difference_json(one) for name, one in differences.items()}}
        print_json(measured | (compared if before else {}))
        return
    for line in report_lines(found):
        print(line)
    if found.request.of is Measure.RETRIEVAL:
        remark("a hit is a place of the book that was found, not an answer: see --helpful")
    if before:
        print(f"\n{differences_table(differences)}")
