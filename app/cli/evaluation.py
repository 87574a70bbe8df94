"""`eval`: measures on questions with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from app.cli.command import Json, OneBook, command, open_application
from app.cli.eval_report import measurement_json, report_lines
from app.cli.output import phases, remark, remark_each, show
from app.cli.question_file import read_questions
from app.domain.errors import InputError
from app.domain.evaluation.measurement import fingerprint
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
    calibrate: Annotated[
        bool, Option("--calibrate", help="Suggest thresholds for refusals.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure retrieval or answers on questions with known answers.

    A search is measured as readers get it: with the models that the settings name. --helpful
    measures the content, citations and refusals of answers.
    """
    request = EvaluationRequest(book, k or 0, helpful, calibrate)
    # Those about the book, and those that name none.
    asked = [one for one in read_questions(questions) if book in (None, one.book) or not one.book]
    if not asked:
        message = f"{questions}: no question for this book"
        raise InputError(message)
    if calibrate and len({one.answerable for one in asked}) < 2:
        message = f"{questions}: --calibrate needs answerable and unanswerable questions"
        raise InputError(message)
    async with open_application(settings) as app:
        with phases().phase("ask", len(asked), "questions") as advance:
            found = await app.evaluate.run(asked, request, advance)
        run = {
            "of": "helpful" if helpful else "retrieval",
            "questions": fingerprint(asked),
            "book": book or "",
            "k": request.chunks,
            "embedder": app.embedder.space,
            "generator": app.answer.model,
        }
    remark_each("warning: a gold passage's file is not in the index", found.missing)
    if found.missing:
        remark("gold files are relative to the ingested folder; are these questions for this book?")
    show(measurement_json(found, run), report_lines(found), as_json=json)
    if not helpful:
        remark("a hit is a place of the book that was found, not an answer: see --helpful")
