"""The gain of each rule of the offline answer: with only this rule, and with all rules except it.

Called by `extraction.py --ablate`. A figure is the mean over a set's questions of the share of the
reference answer in the shown text, in percent. For a student's question it is 100 if all key facts
are shown; for xquad, clapnq and chroma it is the share of the gold text's 5-grams of words; for the
others the share of the reference answer's terms. The same is measured for the marked sentences
alone. Differences to all rules have 95 % intervals (paired bootstrap). Baselines leave out
exercises and solutions.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from dev_sets import DEV_SETS

from app.adapters.sentences import split_sentences
from app.bootstrap.application import Application
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.extraction_input import ALL_RULES, ExtractionInput, Rule
from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.request import AskRequest
from app.domain.answering.units import NEVER_QUOTED
from app.domain.book_id import BookId
from app.domain.evaluation.helpfulness import has_facts
from app.domain.evaluation.paired_bootstrap import paired_bootstrap
from app.domain.retrieval.query import ContextPassage, SearchFilter, Turn
from app.domain.terms import Terms, words

SAMPLE = 300
RUN = 5
"""Words of the n-grams that are compared with a gold text."""
WINDOW_WORDS = 100
SETS = ("xquad-en", "clapnq-dev", "chroma-dev", "openstax-biology", "rust-book-quizzes",
        "hf-course-quizzes", "fairytaleqa-val")  # fmt: skip
STUDENTS = Path(__file__).resolve().parents[2] / "tests/data/student_questions.jsonl"

Record: TypeAlias = dict[str, Any]
"""A question as in its file: each set has its own keys."""
Shown: TypeAlias = Sequence[str]
System: TypeAlias = Callable[["Asked"], Shown]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its hits, and the measure of how much of its answer a text shows."""

    given: ExtractionInput
    similarities: Sequence[float]
    """Cosine of the question and each paragraph."""
    chunks: Sequence[Shown]
    score: Callable[[Shown], float]


def _runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    said = tuple(words(text))
    length = min(length, len(said))
    return {said[at : at + length] for at in range(len(said) - length + 1)} - {()}


def _share_of(golds: Sequence[str], shown: Shown) -> float:
    shares = []
    for gold in golds:
        wanted = _runs(gold)
        length = min(RUN, len(tuple(words(gold))))
        held = set(chain.from_iterable(_runs(text, length) for text in shown))
        shares.append(len(wanted & held) / len(wanted) if wanted else 0.0)
    return sum(shares) / len(shares)


def _known_terms(answers: Sequence[str], terms: Terms, shown: Shown) -> float:
    held = terms("\n".join(shown))
    return max(len(terms(one) & held) / (len(terms(one)) or 1) for one in answers)


async def questions(app: Application, data: Path) -> AsyncIterator[tuple[str, Asked]]:
    for one in DEV_SETS:
        if one.questions not in SETS:
            continue
        records = _lines(data / "qa" / one.questions / "questions.jsonl")
        usable = [
            record
            for record in records
            if record["answerable"]
            and not record.get("history")
            and record["kind"] != "definition"
            and (record.get("answer") or record.get("gold"))
        ]
        for record in random.Random(5).sample(usable, min(SAMPLE, len(usable))):
            request = AskRequest(record["question"], SearchFilter(books=(one.book,)))
            yield one.questions, await _asked(app, request, record, data / one.folder)


async def students(app: Application) -> AsyncIterator[tuple[str, Asked]]:
    """Return only the half that may be used to choose rules."""
    for record in _lines(STUDENTS):
        if record["answerable"] and record["half"] == "development":
            history = tuple(Turn(turn["role"], turn["content"]) for turn in record["history"])
            name = "small-book-of-search" if record["book"] == "sample" else record["book"]
            request = AskRequest(
                record["question"], SearchFilter(books=(BookId(name),)), history=history
            )
            yield "students", await _asked(app, request, record, Path())


def _lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


async def _asked(app: Application, request: AskRequest, record: Record, folder: Path) -> Asked:
    consult = replace(app.answer.consult, refusal_policy=RefusalPolicy(0.0, 0.0))
    read = await consult.read(request)
    analysis = read.analysis
    terms = cache(analysis.features.terms)
    given = ExtractionInput(replace(analysis.features, terms=terms), read.context, split_sentences)
    texts = [one.titled_text for one in read.context]
    cosines = await consult.scorer.similarity.similarities(
        analysis.vector, texts, analysis.features.language
    )
    chunks = [
        [one.text for one in hit.chunk.passages if one.kind not in NEVER_QUOTED]
        for hit in read.found.hits[:3]
    ]
    return Asked(given, [cosines[text] for text in texts], chunks, _score(record, folder, terms))


def _score(record: Record, folder: Path, terms: Terms) -> Callable[[Shown], float]:
    if "key_facts" in record:
        return lambda shown: float(has_facts("\n\n".join(shown), record["key_facts"]))
    spans = record.get("gold_fine") or ([] if record.get("answer") else record["gold"])
    if folder.name == "corpus" and not spans:
        spans = record["gold"]
    if spans:
        golds = [
            (folder / one["file"]).read_bytes().decode("utf-8")[one["start"] : one["end"]]
            for one in spans
        ]
        if folder.parent.name == "xquad-en":
            return lambda shown: max(_share_of([gold], shown) for gold in golds)
        return lambda shown: _share_of(golds, shown)
    answers = [record["answer"]] if isinstance(record["answer"], str) else record["answer"]
    return lambda shown: _known_terms(answers, terms, shown)


def _passages(rules: Set[Rule]) -> System:
    def shown(asked: Asked) -> Shown:
        return [one.text for one in _answer(asked, rules).passages]

    return shown


def _marked(rules: Set[Rule]) -> System:
    def shown(asked: Asked) -> Shown:
        return [_answer(asked, rules).text]

    return shown


def _answer(asked: Asked, rules: Set[Rule]) -> ExtractiveAnswer:
    return extract(asked.given, asked.similarities, rules)


def _windows(asked: Asked) -> Shown:
    """The three best runs of blocks of one section, up to 100 words each, for the question."""
    context, weights = asked.given.context, asked.given.question.weights
    total = sum(weights.values()) or 1.0
    found: list[tuple[float, int, set[int], str]] = []
    for first in range(len(context)):
        last = first
        while _fits(context, first, last + 1):
            last += 1
        text = "\n\n".join(one.passage.text for one in context[first : last + 1])
        held = asked.given.question.terms(text)
        share = sum(weight for term, weight in weights.items() if term in held) / total
        found.append((-share - context[first].score, first, {*range(first, last + 1)}, text))
    shown: list[str] = []
    taken: set[int] = set()
    for _, _, places, text in sorted(found, key=lambda one: one[:2]):
        if len(shown) < 3 and not taken & places:
            taken |= places
            shown.append(text)
    return shown


def _fits(context: Sequence[ContextPassage], first: int, last: int) -> bool:
    if last >= len(context):
        return False
    one, other = context[first].passage, context[last].passage
    size = sum(len(each.passage.text.split()) for each in context[first : last + 1])
    return one.heading_path == other.heading_path and size <= WINDOW_WORDS


BASELINES: Mapping[str, System] = {
    "top chunk": lambda asked: [*chain(*asked.chunks[:1])],
    "top three chunks": lambda asked: [*chain(*asked.chunks)],
    "three windows": _windows,
}


def table(every: Mapping[str, Sequence[Asked]]) -> None:
    passages: dict[str, System] = {"passages": _passages(ALL_RULES), **BASELINES}
    passages |= {f"without {rule}": _passages(ALL_RULES - {rule}) for rule in Rule}
    passages["no rule"] = _passages(frozenset())
    passages |= {f"{rule} alone": _passages(frozenset({rule})) for rule in Rule}
    marked = {"marked": _marked(ALL_RULES)}
    marked |= {f"marked without {rule}": _marked(ALL_RULES - {rule}) for rule in Rule}
    print("\n" + " " * 32 + "".join(f"{name:>26}" for name in every))
    for systems in (passages, marked):
        _rows(systems, every)


def _rows(systems: Mapping[str, System], every: Mapping[str, Sequence[Asked]]) -> None:
    """One row per system; intervals are for the difference to the first."""
    against: dict[str, list[float]] = {}
    for name, system in systems.items():
        cells = []
        for where, asked in every.items():
            shown = [system(one) for one in asked]
            values = [one.score(text) for one, text in zip(asked, shown, strict=True)]
            size = sum(len(" ".join(text).split()) for text in shown) / len(shown)
            first = where not in against
            against.setdefault(where, values)
            change = paired_bootstrap(
                [(value, 1.0) for value in against[where]], [(value, 1.0) for value in values]
            )
            interval = "" if first else f" [{100 * change.low:+.1f} {100 * change.high:+.1f}]"
            cells.append(f"{100 * change.b:8.1f}{interval:>13}{size:5.0f}")
        print(f"{name:32}" + "".join(cells), flush=True)
