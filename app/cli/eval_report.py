"""Writes a measurement as a Markdown report with SVG plots."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from app.bootstrap.evaluation import Curve, bar_charts, curves
from app.cli.eval_results import ANSWER_SETTING, REFUSAL_SETTING, Run
from app.cli.output import markdown_table, write_text
from app.domain.evaluation.calibration import RefusalCurve
from app.domain.evaluation.retrieval_metrics import NDCG_DEPTH
from app.services.evaluate import PARAGRAPHS, STANDARD_DEPTH, Evaluation, QuestionResult
from app.services.evaluate_answers import AnsweredQuestion, AnswerEvaluation

_Row: TypeAlias = tuple[str | float, ...]

_LISTED = 20
"""Maximum questions listed under one heading."""

_RETRIEVAL_NOTES = f"""\
A chunk, or a paragraph of the context, finds a gold passage if they share at least 16 characters,
or all characters of a shorter passage. For a question that only names a file, any part of that file
counts. **recall@k**: share of the gold characters in the top k. **hit@k**: a gold passage is in the
top k; that the place was found says nothing about answers (`eval --helpful`). **mrr**: mean of 1 /
rank of the first hit. **ndcg@{NDCG_DEPTH}**: normalised discounted cumulative gain; a passage
counts once. **precision**: gold characters in the top k / all characters in the top k. **iou**:
intersection over union of gold and retrieved characters. Paragraphs are those of the assembled
context, ranked by their best chunk."""

_ANSWER_NOTES = """\
**citation_precision**: share of the citations, in answers to answerable questions, whose paragraph
shares at least 16 characters with a gold passage. **answer_coverage**: share of the answerable
questions with such a citation. **refusal_precision**: share of the refusals that are of
unanswerable questions. **refusal_recall**: share of the unanswerable questions that were refused.
**answerable_refused**: share of the answerable questions that were refused."""

_REFUSAL_NOTES = """\
The curve uses the answerability score alone. The suggested thresholds maximise refusals of
unanswerable questions while at most 2 % of the answerable ones are refused and at most 15 % are not
marked as answered. They need enough questions of both kinds."""


def write_report(
    path: Path, questions: Path, found: Evaluation | AnswerEvaluation, run: Run
) -> None:
    """Write the report to `path`, its plots beside it. InputError if a file cannot be written."""
    title = f"{run.of.capitalize()} on {questions.parent.name or '.'}/{questions.name}"
    parts = [f"# {_plain(title)}", _what(found, run)]
    curve = found.refusal()
    refusal = _refusal(curve, path) if curve else ()
    if isinstance(found, Evaluation):
        parts += [*_retrieval(found, path), *refusal, *_missed_hits(found)]
        notes = _RETRIEVAL_NOTES
    else:
        parts += [*_answers(found, path), *refusal, *_missed_answers(found)]
        notes = _ANSWER_NOTES
    parts += ["## What the figures mean", notes]
    write_text(path, "\n\n".join(parts) + "\n")


def _plot_path(report: Path, name: str) -> Path:
    """Return the path of a report's plot: `ranks` of `report.md` is in `report-ranks.svg`."""
    return report.with_name(f"{report.stem}-{name}.svg")


def _shown(plot: Path, text: str) -> str:
    return f"![{text}](<{plot.name}>)"


def _what(found: Evaluation | AnswerEvaluation, run: Run) -> str:
    answerable = sum(one.question.answerable for one in found.results)
    book = f"book {_plain(run.book)}" if run.book else "all books"
    by = f", answers by {run.generator}" if run.generator else ", answers in the book's own words"
    reranked = ", reranked" if run.rerank else ""
    return (
        f"{answerable:,} answerable questions and {len(found.results) - answerable:,} others put "
        f"to {book}; {run.k} chunks, {run.mode} search{reranked}, vectors by {run.embedder}"
        f"{by if run.of == 'answers' else ''}."
    )


def _retrieval(found: Evaluation, report: Path) -> Iterator[str]:
    summary = found.summary()
    names = [name for name in summary if PARAGRAPHS + name in summary]
    rows = [(name, summary[name], summary[PARAGRAPHS + name]) for name in names]
    yield _table(["", "chunks", "paragraphs"], rows)
    yield (
        f"The context has {summary['context_tokens']:.0f} tokens and "
        f"{summary.get('context_recall', 0.0):.1%} of the gold's characters, on average. A "
        f"search takes {summary['p50_ms']:.1f} ms (median; 95 % of them at most "
        f"{summary['p95_ms']:.1f} ms); {summary['degraded']:.0f} were degraded."
    )
    if any(one.question.answerable for one in found.results):
        yield _ranks_plot(found.results, report)
    yield _times_plot(found.results, report)
    columns = [f"recall@{STANDARD_DEPTH}", "hit@1", f"hit@{STANDARD_DEPTH}", "mrr"]
    measured = {kind: summary for kind, summary in found.by_kind().items() if summary["n"]}
    yield from _by_kind(measured, ["n", *columns, f"ndcg@{NDCG_DEPTH}"])


def _ranks_plot(results: Sequence[QuestionResult], report: Path) -> str:
    lines = {
        "chunks": _hits_by_depth(results, "mrr"),
        "paragraphs": _hits_by_depth(results, PARAGRAPHS + "mrr"),
    }
    plot = _plot_path(report, "ranks")
    curves(plot, "k", "hit@k", lines)
    return _shown(plot, "Share of questions answered within the first k")


def _times_plot(results: Sequence[QuestionResult], report: Path) -> str:
    times = sorted(one.milliseconds for one in results)
    shares = [(time, rank / len(times)) for rank, time in enumerate(times, 1)]
    plot = _plot_path(report, "times")
    curves(plot, "ms", "share of searches", {"within": shares})
    return _shown(plot, "Share of searches finished within a time in milliseconds")


def _hits_by_depth(results: Sequence[QuestionResult], measure: str) -> Curve:
    """Return for each k the share of answerable questions with a hit in the first k.

    `measure` is the reciprocal rank of the first hit, 0 without a hit.
    """
    ranks = [one.measures[measure] for one in results if one.question.answerable]
    return [
        (k, sum(one > 1 / (k + 0.5) for one in ranks) / len(ranks))
        for k in range(1, NDCG_DEPTH + 1)
    ]


def _answers(found: AnswerEvaluation, report: Path) -> Iterator[str]:
    summary = found.summary()
    yield _table(["", "value"], list(summary.items()))
    by_kind = found.by_kind()
    shares = ["citation_precision", "answer_coverage", "answerable_refused"]
    asked = {kind: summary for kind, summary in by_kind.items() if summary["answerable"]}
    if asked:
        measures = {name: [summary[name] for summary in asked.values()] for name in shares}
        plot = _plot_path(report, "kinds")
        bar_charts(plot, "answerable questions by kind", list(asked), measures)
        yield _shown(plot, "Citations and refusals by kind of question")
        yield from _by_kind(asked, ["answerable", *shares])
    others = {kind: one for kind, one in by_kind.items() if one["answerable"] < one["n"]}
    if others:
        rows: list[_Row] = [
            (_plain(kind), one["n"] - one["answerable"], one["refusal_recall"])
            for kind, one in others.items()
        ]
        yield _table(["kind", "unanswerable", "refused rightly"], rows)


def _by_kind(kinds: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> Iterator[str]:
    yield "## By kind of question"
    rows: list[_Row] = [
        (_plain(kind), *(summary[name] for name in columns)) for kind, summary in kinds.items()
    ]
    yield _table(["kind", *columns], rows)


def _refusal(curve: RefusalCurve, report: Path) -> Iterator[str]:
    yield "## Refusal"
    yield (
        f"`{REFUSAL_SETTING}={curve.suggested.threshold:g}` and "
        f"`{ANSWER_SETTING}={curve.suggested_answer.threshold:g}` are suggested; AUROC "
        f"{curve.auroc:.3f} over {curve.answerable:,} answerable and {curve.unanswerable:,} other "
        "questions."
    )
    points = {
        "refused below, now": curve.current,
        "refused below, suggested": curve.suggested,
        "answered from, now": curve.current_answer,
        "answered from, suggested": curve.suggested_answer,
    }
    yield _table(
        ["", "threshold", "precision", "recall", "answerable below"],
        [
            (name, one.threshold, one.precision, one.recall, one.answerable_refused)
            for name, one in points.items()
        ],
    )
    lines = {
        "precision": [(one.threshold, one.precision) for one in curve.points],
        "recall": [(one.threshold, one.recall) for one in curve.points],
        "answerable below": [(one.threshold, one.answerable_refused) for one in curve.points],
    }
    marks = {name: one.threshold for name, one in points.items()}
    plot = _plot_path(report, "refusal")
    curves(plot, "threshold", "share", lines, marks)
    yield _shown(plot, "Precision and recall of refusals over the threshold")
    yield _REFUSAL_NOTES


def _missed_hits(found: Evaluation) -> Iterator[str]:
    answerable = [one for one in found.results if one.question.answerable]
    lost = [one for one in answerable if not 0 < one.first_hit <= found.k]
    yield from _listed(f"Not within the first {found.k}", lost)


def _missed_answers(found: AnswerEvaluation) -> Iterator[str]:
    groups: dict[str, list[AnsweredQuestion]] = {
        "Answerable, but refused": [],
        "Answered from elsewhere": [],
        "Unanswerable, but answered": [],
    }
    for one in found.results:
        if one.refused and one.question.answerable:
            groups["Answerable, but refused"].append(one)
        elif not one.refused and not one.question.answerable:
            groups["Unanswerable, but answered"].append(one)
        elif not one.refused and not one.right:
            groups["Answered from elsewhere"].append(one)
    for title, missed in groups.items():
        yield from _listed(title, missed)


def _listed(title: str, found: Sequence[QuestionResult] | Sequence[AnsweredQuestion]) -> list[str]:
    if not found:
        return []
    lines = [f"- {_plain(one.question.question)} ({_where(one)})" for one in found[:_LISTED]]
    more = f"; the first {_LISTED}" if len(found) > _LISTED else ""
    return [f"## {title}: {len(found):,}{more}", "\n".join(lines)]


def _where(one: QuestionResult | AnsweredQuestion) -> str:
    """Return a question's id, its gold passage, and what was found instead."""
    files = dict.fromkeys(gold.file for gold in one.question.gold)
    gold = ", ".join(files) or one.question.gold_file or "no gold"
    parts = [_plain(one.question.id), _plain(gold)]
    if isinstance(one, QuestionResult) and one.found:
        address = re.sub(r"[<>\s]", "", one.found)
        parts.append(f"rank {one.first_hit or 'none'}; [first hit](<{address}>)")
    return "; ".join(parts)


def _table(head: Sequence[str], rows: Sequence[_Row]) -> str:
    return markdown_table(head, [[*map(_cell, row)] for row in rows])


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _plain(text: str) -> str:
    """Escape Markdown, because questions are untrusted."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$!&])", r"\\\1", " ".join(text.split()))
