"""`eval`: measure on questions with known answers, compare two measurements, calibrate."""

from __future__ import annotations

import argparse
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from app.bootstrap.application import Application, application
from app.bootstrap.evaluation import read_questions, require_plots
from app.cli.eval_helpful import aligned, chosen_questions, evaluate_helpful
from app.cli.eval_report import write_report
from app.cli.eval_results import (
    ANSWER_SETTING,
    REFUSAL_SETTING,
    measurement_json,
    read_measurement,
    refusal_json,
    run_of,
)
from app.cli.output import asking, print_json, remark_each, require_writable, write_text
from app.cli.printing import remark
from app.domain.answering.request import ANSWER_CHUNKS
from app.domain.errors import ConfigError, InputError
from app.domain.evaluation.calibration import RefusalCurve, refusal_curve
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.paired_bootstrap import CONFIDENCE, Difference, compare_runs
from app.domain.retrieval.query import SearchMode
from app.services.evaluate import STANDARD_DEPTH, Evaluation, EvaluationRequest, ask_request
from app.services.evaluate_answers import AnswerEvaluation, evaluate_answers
from app.settings import Settings


async def evaluate(arguments: argparse.Namespace, settings: Settings) -> None:
    if arguments.compare:
        _compare(arguments)
    elif arguments.questions is None:
        message = "eval: name a QUESTIONS.jsonl, or two measurements with --compare A.json B.json"
        raise InputError(message)
    elif arguments.calibrate:
        await calibrate(arguments, settings)
    elif arguments.helpful:
        await evaluate_helpful(arguments, settings)
    else:
        await _evaluate(arguments, settings)


async def _evaluate(arguments: argparse.Namespace, settings: Settings) -> None:
    _require_fitting_options(arguments)
    require_writable(arguments.report)
    questions = read_questions(arguments.questions)
    if arguments.report:
        require_plots()
    async with application(settings) as app:
        _require_models(arguments, app)
        measure = _answers if arguments.answers else _retrieval
        with asking(questions) as advance:
            found = await measure(app, questions, arguments, advance)
        of = "answers" if arguments.answers else "retrieval"
        run = run_of(of, arguments, app, questions, found.k)
    if isinstance(found, Evaluation):
        _warn_of(found.missing)
    if arguments.json:
        print_json(measurement_json(found, run))
    else:
        _print(found.summary(), found.refusal())
        if isinstance(found, Evaluation):
            remark("a hit is a place of the book that was found, not an answer: see --helpful")
    if arguments.report:
        write_report(arguments.report, arguments.questions, found, run)


def _require_fitting_options(arguments: argparse.Namespace) -> None:
    if arguments.half:
        message = "eval --half: use it with --helpful or --calibrate"
        raise InputError(message)
    chosen = arguments.rerank or arguments.rewrite or arguments.mode is not SearchMode.HYBRID
    if arguments.answers and chosen:
        message = (
            "eval --answers measures answers as readers get them: leave out --mode, --rerank, "
            "--rewrite"
        )
        raise InputError(message)


def _require_models(arguments: argparse.Namespace, app: Application) -> None:
    if arguments.rerank and app.retrieve.reranker is None:
        message = "--rerank needs a reranker: set CO_API_KEY, or leave it out"
        raise ConfigError(message)
    if arguments.rewrite and app.retrieve.analysis.rewriter is None:
        message = "--rewrite needs a language model: set CO_API_KEY or RAG_GENERATOR=openai"
        raise ConfigError(message)


def _warn_of(missing: Sequence[str]) -> None:
    remark_each("warning: a gold passage's file is not in the index", missing)
    if missing:
        remark("gold files are relative to the ingested folder; are these questions for this book?")


async def _retrieval(
    app: Application,
    questions: Sequence[Question],
    arguments: argparse.Namespace,
    advance: Callable[[int], None],
) -> Evaluation:
    request = EvaluationRequest(
        book=arguments.book,
        k=arguments.k or STANDARD_DEPTH,
        mode=arguments.mode,
        rerank=arguments.rerank,
        rewrite=arguments.rewrite,
    )
    return await app.evaluate.run(questions, request, advance)


async def _answers(
    app: Application,
    questions: Sequence[Question],
    arguments: argparse.Namespace,
    advance: Callable[[int], None],
) -> AnswerEvaluation:
    k = arguments.k or ANSWER_CHUNKS
    return await evaluate_answers(app.answer, questions, arguments.book, k, advance)


def _print(summary: Mapping[str, float], refusal: RefusalCurve | None) -> None:
    width = max(map(len, summary))
    for name, value in summary.items():
        print(f"{name:>{width}}  {value:.4g}")
    if refusal:
        print_suggestions(refusal)


def _compare(arguments: argparse.Namespace) -> None:
    if arguments.questions is not None:
        message = f"eval --compare takes only its two measurements: leave out {arguments.questions}"
        raise InputError(message)
    require_writable(arguments.report)
    a, b = map(read_measurement, arguments.compare)
    differences = compare_runs(a, b)
    if arguments.json:
        print_json(
            {
                "questions": len(a.rows),
                "k": a.k,
                "confidence": CONFIDENCE,
                "metrics": {name: _difference(one) for name, one in differences.items()},
            }
        )
    else:
        remark(f"{len(a.rows):,} questions; b - a with its {CONFIDENCE:.0%} interval")
        print(_table(differences))
    if arguments.report:
        title = f"# {a.name} (a) and {b.name} (b)\n\n{len(a.rows):,} questions.\n\n"
        write_text(arguments.report, title + _table(differences) + "\n")


def _difference(one: Difference) -> Mapping[str, float | bool]:
    return {
        "a": round(one.a, 4),
        "b": round(one.b, 4),
        "difference": round(one.mean, 4),
        "low": round(one.low, 4),
        "high": round(one.high, 4),
        "significant": one.significant,
    }


def _table(differences: Mapping[str, Difference]) -> str:
    """Return a Markdown table."""
    lines = ["| metric | a | b | b - a | interval | differs |", "|---|---:|---:|---:|---|---|"]
    lines += [
        f"| {name} | {one.a:.4f} | {one.b:.4f} | {one.mean:+.4f} | {one.low:+.4f} to "
        f"{one.high:+.4f} | {'yes' if one.significant else 'no'} |"
        for name, one in differences.items()
    ]
    return "\n".join(lines)


_STEPS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)


async def calibrate(arguments: argparse.Namespace, settings: Settings) -> None:
    """Compute each question's answerability score, without an answer, and suggest thresholds.

    A question is asked of `--book` or, without the option, of its own book.
    """
    questions = chosen_questions(arguments, "--calibrate")
    async with application(settings) as app:
        scores: list[float] = []
        with asking(questions) as advance:
            for one in questions:
                request = ask_request(one, arguments.book or one.book)
                scores.append(await app.answer.answerability(request))
                advance(1)
        policy = app.answer.refusal_policy
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
    """Yield one row per threshold: all answerable questions, then each unanswerable kind."""
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
