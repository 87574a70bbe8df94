"""The report of `eval`, as a table and as JSON.

`contracts/evaluation.md` describes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TypeAlias

from app.domain.answering.answerability import RefusalPolicy
from app.domain.evaluation.measurement import (
    Measured,
    RefusalCurve,
    by_kind,
    refusal_curve,
    summary,
)
from app.services.evaluate import Evaluation

Json: TypeAlias = dict[str, object]

ANSWER_SETTING = "RAG_ANSWER_THRESHOLD"


def report_lines(found: Evaluation) -> Iterator[str]:
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
        (ANSWER_SETTING, "now", curve.current_answer, "does not mark as answered"),
        (ANSWER_SETTING, "suggested", curve.suggested_answer, "does not mark as answered"),
    ]
    for setting, label, point, does in points[: 2 if policy.by_relevance else 4]:
        yield (
            f"{setting}={point.threshold:g} ({label}): {does} {point.recall:.1%} of what the book "
            f"does not say and {point.answerable_refused:.1%} of what it does"
        )


def measurement_json(found: Evaluation, run: Mapping[str, str | int]) -> Json:
    settings = {"setting": _setting(found.policy), "answer_setting": ANSWER_SETTING}
    curve = _refusals(found)
    return {
        **summary(found.results),
        "run": run,
        "by_kind": {kind: summary(rows) for kind, rows in by_kind(found.results).items()},
        "refusal": settings | asdict(curve) if curve else None,
        "questions": [_row_json(one) for one in found.results],
    }


def _row_json(one: Measured) -> Json:
    return {
        "id": one.question.id,
        "kind": one.question.kind,
        "answerable": one.question.answerable,
        **one.details,
        "answerability": one.answerability,
        "ms": round(one.milliseconds, 2),
        "measures": one.applicable,
    }
