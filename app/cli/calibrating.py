"""`eval --calibrate`: the thresholds between answered, uncertain and not in the book."""

from __future__ import annotations

import argparse
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from app.bootstrap import application
from app.cli.helpful import aligned, chosen_questions
from app.cli.measurements import ANSWER_SETTING, REFUSAL_SETTING, refusal_json
from app.cli.output import TerminalProgress, print_json
from app.domain.answering.thresholds import RefusalCurve, refusal_curve
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import Question
from app.services.evaluate import ask_request
from app.settings import Settings

_STEPS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)


async def calibrate(arguments: argparse.Namespace, settings: Settings) -> None:
    """Score each question in its own book, or in `--book`, without writing an answer."""
    questions = chosen_questions(arguments, "--calibrate")
    async with application(settings) as app:
        scores: list[float] = []
        with TerminalProgress() as progress:
            progress.start("ask", len(questions), "questions")
            for one in questions:
                request = ask_request(one, arguments.book or one.book)
                scores.append(await app.answer.answerability(request))
                progress.advance("ask", 1)
            progress.finish("ask")
        policy = app.answer.refusal
    judged = [(one.answerable, score) for one, score in zip(questions, scores, strict=True)]
    curve = refusal_curve(judged, policy)
    if curve is None:
        message = f"{arguments.questions}: calibration needs answerable and unanswerable questions"
        raise InputError(message)
    if arguments.json:
        print_json({"refusal": refusal_json(curve)})
        return
    print("Share of the questions below each threshold:\n")
    print("\n".join(aligned([*_rows(questions, scores)])))
    print(f"\nAUROC {curve.auroc:.3f}")
    print_suggestions(curve)


def _rows(questions: Sequence[Question], scores: Sequence[float]) -> Iterator[tuple[str, ...]]:
    """A row a threshold: all answerable questions, then each kind of the others."""
    groups: dict[str, list[float]] = {}
    for one, score in zip(questions, scores, strict=True):
        groups.setdefault("answerable" if one.answerable else one.kind, []).append(score)
    ordered = {name: sorted(found) for name, found in sorted(groups.items())}
    yield ("threshold", *(f"{name} ({len(found)})" for name, found in ordered.items()))
    for step in _STEPS:
        shares = (bisect_left(found, step) / len(found) for found in ordered.values())
        yield (f"{step:.2f}", *(f"{share:.1%}" for share in shares))


def print_suggestions(curve: RefusalCurve) -> None:
    points = (
        (REFUSAL_SETTING, "now", curve.current, "refuses"),
        (REFUSAL_SETTING, "suggested", curve.suggested, "refuses"),
        (ANSWER_SETTING, "now", curve.current_answer, "does not mark as answered"),
        (ANSWER_SETTING, "suggested", curve.suggested_answer, "does not mark as answered"),
    )
    for setting, label, point, does in points:
        print(
            f"{setting}={point.threshold:g} ({label}): {does} {point.recall:.1%} of what the book "
            f"does not say and {point.answerable_refused:.1%} of what it does"
        )
