"""Measure the answers of a real model behind any server of OpenAI's protocol.

    python scripts/bench/real_model.py --url http://127.0.0.1:8080/v1 --model NAME

Puts questions of the sample book's own set through the whole answer path. Prints the share of all
generated sentences that a consulted paragraph supports, whether the model cited them or not; the
results of the answers; the share of shown citations that are of a gold paragraph; and the times to
the model's first text, to the first text shown, and to the end.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from dev_sets import ROOT, Silent

from app.adapters.question_file import read_questions
from app.adapters.sentences import split_sentences
from app.bootstrap.application import application
from app.bootstrap.books import sample_request
from app.domain.answer import Answer, AnswerMode, Finished, TextDelta
from app.domain.answering.attribution import Attributor
from app.domain.answering.request import AskRequest
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.evaluation.gold_question import Question
from app.services.answer_question import AnswerQuestion
from app.services.generators import (
    GeneratedCitation,
    GeneratedText,
    GenerationRequest,
    Generator,
    GeneratorEvent,
)
from app.services.phases import Phases
from app.settings import Settings

QUESTIONS = ROOT / "tests/data/sample_questions.jsonl"


@dataclass
class Overheard:
    """A generator that records the output of another one."""

    generator: Generator
    began: float = 0.0
    first: float | None = None
    text: str = ""
    cited: int = 0
    request: GenerationRequest | None = None
    mode: AnswerMode = AnswerMode.GENERATED

    @property
    def model(self) -> str:
        return self.generator.model

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        self.began, self.first, self.text, self.cited = time.perf_counter(), None, "", 0
        self.request = request
        async with aclosing(self.generator.generate(request)) as events:
            async for event in events:
                if isinstance(event, GeneratedText):
                    if self.first is None:
                        self.first = time.perf_counter() - self.began
                    self.text += event.text
                self.cited += isinstance(event, GeneratedCitation)
                yield event

    def supported(self) -> list[bool]:
        """Whether a consulted paragraph supports each sentence written."""
        request = self.request
        if request is None:
            return []
        analysis = request.analysis
        verifier = Verifier(
            by_paragraph(request.context), analysis.features.terms, split_sentences, analysis.words
        )
        attributor = Attributor(verifier)
        lines = [line for line in self.text.split("\n") if line.strip()]
        sentences = [
            line[start:end]
            for line in lines
            for start, end in split_sentences(line, analysis.features.language)
        ]
        return [
            attributor.attribute(one) is not None
            for one in sentences
            if analysis.features.terms(one)
        ]


@dataclass
class Totals:
    outcomes: Counter[str] = field(default_factory=Counter)
    supported: list[bool] = field(default_factory=list)
    markers: int = 0
    coverage: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    """Tokens of each prompt, counted by the server."""
    first: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)


async def ask(answering: AnswerQuestion, question: Question, totals: Totals) -> Answer:
    began = time.perf_counter()
    shown: float | None = None
    async with aclosing(answering.stream(AskRequest(question.question))) as events:
        async for event in events:
            if isinstance(event, TextDelta) and shown is None:
                shown = time.perf_counter() - began
            if isinstance(event, Finished):
                totals.whole.append(time.perf_counter() - began)
                totals.shown.append(shown or 0.0)
                return event.answer
    raise AssertionError


def outcome(answer: Answer) -> str:
    return " ".join([answer.mode.value, *answer.degraded])


def is_right(question: Question, answer: Answer) -> list[bool]:
    return [
        any(
            gold.file == one.file and start < gold.end and gold.start < end
            for gold in question.gold
            for start, end in one.spans
        )
        for one in answer.citations
    ]


async def run(options: argparse.Namespace, home: Path) -> None:
    settings = Settings(
        home=home,
        embedder="local",
        generator="openai",
        openai_base_url=options.url,
        openai_model=options.model,
        openai_prompt=options.prompt,
        context_tokens=options.context_tokens,
        answer_timeout_seconds=10 * options.timeout,
    )
    every = [one for one in read_questions(QUESTIONS) if not one.history]
    count = min(options.questions, len(every))
    asked = [every[at * len(every) // count] for at in range(count)]
    totals = Totals()
    async with application(settings) as app:
        await app.ingest.run(sample_request(settings), Phases(Silent()))
        overheard = Overheard(app.generator)
        answering = replace(app.answer, generator=overheard)
        for question in asked:
            overheard.first, overheard.text, overheard.request = None, "", None
            answer = await ask(answering, question, totals)
            answerable = "answerable" if question.answerable else "unanswerable"
            totals.outcomes[f"{answerable}: {outcome(answer)}"] += 1
            totals.supported += overheard.supported()
            totals.markers += overheard.cited
            if overheard.first is not None:
                totals.first.append(overheard.first)
            if answer.usage.input_tokens:
                totals.given.append(answer.usage.input_tokens)
            if answer.mode is AnswerMode.GENERATED:
                totals.coverage.append(answer.coverage)
                totals.right += is_right(question, answer) if question.answerable else []
            print(f"{outcome(answer):28} {question.question}", flush=True)
            if options.verbose:
                print(f"  {overheard.text!r}", flush=True)
    report(options, len(asked), totals)


def report(options: argparse.Namespace, asked: int, totals: Totals) -> None:
    print(
        f"\n{options.model}, prompt {options.prompt}, {options.context_tokens} tokens: n = {asked}"
    )
    for name, count in sorted(totals.outcomes.items()):
        print(f"{name:44}{count:6}")
    share = sum(totals.supported) / max(1, len(totals.supported))
    print(f"{'sentences written':44}{len(totals.supported):6}")
    print(f"{'  supported by a consulted paragraph':44}{share:6.0%}")
    print(f"{'citations by the model itself':44}{totals.markers:6}")
    right = sum(totals.right) / max(1, len(totals.right))
    print(f"{'citations shown (generated, answerable)':44}{len(totals.right):6}")
    print(f"{'  of a gold paragraph':44}{right:6.0%}")
    if totals.coverage:
        mean = sum(totals.coverage) / len(totals.coverage)
        print(f"{'coverage of generated answers':44}{mean:6.0%}")
    if totals.given:
        mean = sum(totals.given) / len(totals.given)
        print(f"{'tokens of a prompt: mean, max':44}{mean:6.0f}{max(totals.given):7}")
    for name, times in (
        ("model's first text", totals.first),
        ("first text shown", totals.shown),
        ("end", totals.whole),
    ):
        if times:
            print(f"{f'seconds to {name}: median, max':44}{median(times):6.1f}{max(times):7.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", required=True, help="ends with the version: .../v1")
    parser.add_argument("--model", default="default")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--prompt", choices=["full", "short"], default="full")
    parser.add_argument("--context-tokens", type=int, default=3_000)
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for each piece")
    parser.add_argument("--verbose", action="store_true", help="print what the model wrote")
    options = parser.parse_args()
    with TemporaryDirectory() as home:
        asyncio.run(run(options, Path(home)))


if __name__ == "__main__":
    main()
