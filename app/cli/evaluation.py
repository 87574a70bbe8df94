"""`eval`: measures on questions with known answers.

`contracts/evaluation.md` describes its report, as a table and as JSON.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from app.bootstrap.question_file import read_questions
from app.cli.command import Json, OneBook, command, open_application
from app.cli.output import phases, remark, remark_each, show
from app.domain.answering.answerability import RefusalPolicy
from app.domain.errors import InputError
from app.domain.evaluation.calibration import RefusalCurve, refusal_curve
from app.domain.evaluation.gold_question import fingerprint
from app.domain.evaluation.measurement import Measured, by_kind, summary
from app.services.evaluate import Evaluation, EvaluationRequest
from app.settings import Settings

_ANSWER_SETTING = "RAG_ANSWER_THRESHOLD"


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
        raise InputError(f"{questions}: no question for this book")
    if calibrate and len({one.answerable for one in asked}) < 2:
        raise InputError(f"{questions}: --calibrate needs answerable and unanswerable questions")
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
    show(_measurement_json(found, run), _report_lines(found), as_json=json)
    if not helpful:
        remark("a hit is a place of the book that was found, not an answer: see --helpful")


def _report_lines(found: Evaluation) -> Iterator[str]:
    """Yield a Markdown table with a row for each kind, and what is said of the thresholds."""
    metrics = [*found.results[0].metrics, "p50_ms"]
    columns = [*dict.fromkeys(one.rpartition("answerable_")[2] for one in metrics)]
    yield _markdown_table(["kind", "n", *columns], _rows(found.results, columns))
    if curve := _refusals(found):
        yield f"\nanswerability: AUROC {curve.auroc:.3f}"
        yield from _suggestions(curve, found.policy)


def _refusals(found: Evaluation) -> RefusalCurve | None:
    """Return the refusals by threshold; None unless questions of both kinds were scored."""
    judged = [(one.question.answerable, one.answerability) for one in found.results]
    return refusal_curve(judged, found.policy)


def _rows(results: Sequence[Measured], columns: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield one row per kind and a total, for answerable and then for unanswerable questions."""
    for answerable, sort in ((True, "answerable"), (False, "unanswerable")):
        part = [one for one in results if one.question.answerable is answerable]
        groups = {**by_kind(part), f"all {sort}": part} if part else {}
        for name, rows in groups.items():
            means, known = summary(rows), {one for row in rows for one in row.applicable}
            names = [f"{sort}_{one}" if f"{sort}_{one}" in means else one for one in columns]
            shown = (_figure(means[one]) if one in {*known, "p50_ms"} else "-" for one in names)
            yield [name, str(len(rows)), *shown]


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an aligned table; columns after the first one are aligned to the right."""
    lines = [head, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    marks = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    shown = [
        [cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]
        for cells in (head, marks, *lines[1:])
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in shown)


def _figure(value: float) -> str:
    """Format a number with about three significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{3 if value < 1 else 2 if value < 10 else 0}f}"


def _setting(policy: RefusalPolicy) -> str:
    return "RAG_RELEVANCE_THRESHOLD" if policy.by_relevance else "RAG_REFUSAL_THRESHOLD"


def _suggestions(curve: RefusalCurve, policy: RefusalPolicy) -> Iterator[str]:
    refusal = _setting(policy)
    points = [
        (refusal, "now", curve.current, "refuses"),
        (refusal, "suggested", curve.suggested, "refuses"),
        (_ANSWER_SETTING, "now", curve.current_answer, "does not mark as answered"),
        (_ANSWER_SETTING, "suggested", curve.suggested_answer, "does not mark as answered"),
    ]
    for setting, label, point, does in points[: 2 if policy.by_relevance else 4]:
        yield (
            f"{setting}={point.threshold:g} ({label}): {does} {point.recall:.1%} of what the book "
            f"does not say and {point.answerable_refused:.1%} of what it does"
        )


def _measurement_json(found: Evaluation, run: Mapping[str, str | int]) -> dict[str, object]:
    settings = {"setting": _setting(found.policy), "answer_setting": _ANSWER_SETTING}
    curve = _refusals(found)
    return {
        **summary(found.results),
        "run": run,
        "by_kind": {kind: summary(rows) for kind, rows in by_kind(found.results).items()},
        "refusal": settings | asdict(curve) if curve else None,
        "questions": [_row_json(one) for one in found.results],
    }


def _row_json(one: Measured) -> dict[str, object]:
    return {
        "id": one.question.id,
        "kind": one.question.kind,
        "answerable": one.question.answerable,
        **one.details,
        "answerability": one.answerability,
        "ms": round(one.milliseconds, 2),
        "measures": one.applicable,
    }
