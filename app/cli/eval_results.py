"""Writes and reads the results of `eval` as JSON.

Keys: the means (`n`, `recall@5`, ...); `paragraphs`, the means over paragraphs instead of chunks;
`run`, the options of the measurement; `by_kind`; `refusal`, null unless some questions are
unanswerable; `questions`, one row each. `measures` of a row has each metric as a number or, if
questions have different weights, as [part, whole]: the mean is the sum of all parts divided by the
sum of all wholes.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from app.bootstrap.application import Application
from app.domain.errors import InputError
from app.domain.evaluation.calibration import RefusalCurve, RefusalPoint
from app.domain.evaluation.gold_question import Question, fingerprint
from app.domain.evaluation.paired_bootstrap import EvalRun, Share
from app.domain.reading_budget import read_json
from app.services.evaluate import PARAGRAPHS, Evaluation, QuestionResult
from app.services.evaluate_answers import AnsweredQuestion, AnswerEvaluation
from app.services.safe_paths import read_text

_REMEDY = "write one with `textbook-rag eval QUESTIONS.jsonl --json`"

Json: TypeAlias = dict[str, object]

REFUSAL_SETTING = "RAG_REFUSAL_THRESHOLD"
ANSWER_SETTING = "RAG_ANSWER_THRESHOLD"
"""The settings that take the suggested thresholds."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured, and with which options."""

    of: str
    """"retrieval", "answers" or "helpful"."""
    questions: str
    """Fingerprint of the question set."""
    book: str
    k: int
    mode: str
    rerank: bool
    embedder: str
    generator: str
    """"" for extractive answers."""


def run_of(
    of: str, arguments: argparse.Namespace, app: Application, questions: Sequence[Question], k: int
) -> Run:
    writes = of != "retrieval" or arguments.rewrite
    return Run(
        of=of,
        questions=fingerprint(questions),
        book=arguments.book or "",
        k=k,
        mode=arguments.mode.value,
        rerank=arguments.rerank,
        embedder=app.embedder.model,
        generator=app.generator.model if writes else "",
    )


def measurement_json(found: Evaluation | AnswerEvaluation, run: Run) -> Json:
    rows = [
        _retrieved(one) if isinstance(one, QuestionResult) else _answered(one)
        for one in found.results
    ]
    return {
        **_nested(found.summary()),
        "run": asdict(run),
        "by_kind": {kind: _nested(summary) for kind, summary in found.by_kind().items()},
        "refusal": refusal_json(found.refusal()),
        "questions": rows,
    }


def _nested(summary: Mapping[str, float]) -> Json:
    """Move the metrics of paragraphs into a nested object `paragraphs`."""
    paragraphs = {
        name.removeprefix(PARAGRAPHS): value
        for name, value in summary.items()
        if name.startswith(PARAGRAPHS)
    }
    flat = {name: value for name, value in summary.items() if not name.startswith(PARAGRAPHS)}
    return {**flat, "paragraphs": paragraphs} if paragraphs else {**flat}


def refusal_json(curve: RefusalCurve | None) -> Json | None:
    if curve is None:
        return None
    return {
        "setting": REFUSAL_SETTING,
        "answerable": curve.answerable,
        "unanswerable": curve.unanswerable,
        "auroc": round(curve.auroc, 4),
        "current": _point(curve.current),
        "suggested": _point(curve.suggested),
        "answer": {
            "setting": ANSWER_SETTING,
            "current": _point(curve.current_answer),
            "suggested": _point(curve.suggested_answer),
        },
        "curve": [_point(one) for one in curve.points],
    }


def _point(one: RefusalPoint) -> Json:
    return {name: round(value, 4) for name, value in asdict(one).items()}


def _retrieved(one: QuestionResult) -> Json:
    return {
        "id": one.question.id,
        "kind": one.question.kind,
        "answerable": one.question.answerable,
        "rank": one.first_hit,
        "found": one.found,
        "answerability": _rounded(one.answerability),
        "ms": round(one.milliseconds, 2),
        "measures": {name: round(value, 6) for name, value in one.measures.items()},
    }


def _answered(one: AnsweredQuestion) -> Json:
    return {
        "id": one.question.id,
        "kind": one.question.kind,
        "answerable": one.question.answerable,
        "mode": one.mode.value,
        "confidence": one.confidence.value,
        "cited": one.cited,
        "right": one.right,
        "degraded": one.degraded,
        "answerability": _rounded(one.answerability),
        "measures": {name: list(share) for name, share in one.shares().items()},
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def read_measurement(path: Path) -> EvalRun:
    """Read the output of `eval --json`. InputError if the file is something else."""
    record = read_json(read_text(path), str(path), expected=_REMEDY)
    try:
        run, rows = record["run"], record["questions"]
        return EvalRun(
            name=str(path),
            of=str(run["of"]),
            k=int(run["k"]),
            questions=str(run["questions"]),
            rows={str(row["id"]): _shares(row) for row in rows},
        )
    except KeyError as error:
        raise _not_a_measurement(path, f"{error.args[0]!r} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise _not_a_measurement(path, "its values have wrong types") from error


def _shares(row: Mapping[str, Any]) -> Mapping[str, Share]:
    measures = row["measures"] | ({"ms": row["ms"]} if "ms" in row else {})
    return {str(name): _share(value) for name, value in measures.items()}


def _share(value: float | list[float]) -> Share:
    part, whole = value if isinstance(value, list) else (value, 1.0)
    if not isfinite(float(part)) or not float(whole) >= 0:
        message = "not a share"
        raise ValueError(message)
    return float(part), float(whole)


def _not_a_measurement(path: Path, why: str) -> InputError:
    return InputError(f"{path}: not a measurement ({why}): {_REMEDY}")
