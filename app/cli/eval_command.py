"""`eval`: measure on questions with known answers, suggest thresholds, compare two measurements."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from app.bootstrap.application import Application, application
from app.bootstrap.evaluation import read_questions
from app.cli.eval_compare import compare_measurements
from app.cli.eval_report import measurement_json, report_lines
from app.cli.output import asking, print_json, remark_each
from app.cli.printing import remark
from app.domain.errors import ConfigError, InputError
from app.domain.evaluation.gold_question import Question, fingerprint
from app.domain.evaluation.measurement import Measure
from app.domain.retrieval.query import SearchMode
from app.services.evaluate import Evaluation, EvaluationRequest
from app.settings import Settings


async def evaluate(arguments: argparse.Namespace, settings: Settings) -> None:
    if arguments.compare:
        compare_measurements(arguments)
        return
    request = _request(arguments)
    questions = _chosen_questions(arguments)
    async with application(settings) as app:
        _require_models(request, app)
        with asking(questions) as advance:
            found = await app.evaluate.run(questions, request, advance)
        run = _run(request, app, questions)
    if request.of is Measure.ANSWERABILITY and found.refusal() is None:
        message = f"{arguments.questions}: calibration needs answerable and unanswerable questions"
        raise InputError(message)
    _warn_of(found.missing)
    if arguments.json:
        print_json(measurement_json(found, run))
    else:
        _print(found)


def _request(arguments: argparse.Namespace) -> EvaluationRequest:
    request = EvaluationRequest(
        book=arguments.book,
        k=arguments.k or 0,
        mode=arguments.mode,
        rerank=arguments.rerank,
        rewrite=arguments.rewrite,
        of=arguments.of,
    )
    chosen = request.rerank or request.rewrite or request.mode is not SearchMode.HYBRID
    if request.of is not Measure.RETRIEVAL and chosen:
        message = (
            "eval: answers are measured as readers get them: leave out --mode, --rerank, --rewrite"
        )
        raise InputError(message)
    return request


def _chosen_questions(arguments: argparse.Namespace) -> Sequence[Question]:
    """Return the questions about the chosen book, of the chosen half."""
    if arguments.questions is None:
        message = "eval: name a QUESTIONS.jsonl, or two measurements with --compare A.json B.json"
        raise InputError(message)
    chosen = [
        one
        for one in read_questions(arguments.questions)
        if arguments.half in (None, one.half)
        and (None in (arguments.book, one.book) or arguments.book == one.book)
    ]
    if not chosen:
        message = f"{arguments.questions}: no question for this book and half"
        raise InputError(message)
    return chosen


def _require_models(request: EvaluationRequest, app: Application) -> None:
    if request.rerank and app.retrieve.reranker is None:
        message = "--rerank needs a reranker: set CO_API_KEY, or leave it out"
        raise ConfigError(message)
    if request.rewrite and app.retrieve.analysis.rewriter is None:
        message = "--rewrite needs a language model: set CO_API_KEY or RAG_GENERATOR=openai"
        raise ConfigError(message)


def _run(
    request: EvaluationRequest, app: Application, questions: Sequence[Question]
) -> Mapping[str, str | int]:
    """Return what is measured, and with which options."""
    writes = request.rewrite or request.of in (Measure.ANSWERS, Measure.HELPFUL)
    return {
        "of": request.of,
        "questions": fingerprint(questions),
        "book": request.book or "",
        "k": request.chunks,
        "mode": request.mode,
        "rerank": request.rerank,
        "embedder": app.embedder.model,
        "generator": app.generator.model if writes else "",
    }


def _warn_of(missing: Sequence[str]) -> None:
    remark_each("warning: a gold passage's file is not in the index", missing)
    if missing:
        remark("gold files are relative to the ingested folder; are these questions for this book?")


def _print(found: Evaluation) -> None:
    for line in report_lines(found):
        print(line)
    if found.request.of is Measure.RETRIEVAL:
        remark("a hit is a place of the book that was found, not an answer: see --helpful")
