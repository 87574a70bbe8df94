"""Converts a generator's events, or a refusal, to the events of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.domain.answer import (
    TRUNCATED,
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitationFound,
    Confidence,
    Finished,
    Source,
    Started,
    TextDelta,
    Usage,
)
from app.domain.answering.cited_answer import CitedAnswerBuilder, coverage
from app.domain.answering.exercises import Solutions
from app.domain.answering.notices import (
    HINT,
    UNCERTAIN,
    do_not_mention,
    in_language,
    other_language,
    refusal_text,
)
from app.domain.answering.verification import Quote
from app.domain.errors import ProviderUnavailable
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit
from app.services.consultation import Consultation
from app.services.generators import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedQuote,
    GeneratedText,
    GeneratorEvent,
    GeneratorReplaced,
    TextDiscarded,
)
from app.services.recording import failed_step

NEAREST_SECTIONS = 3
"""Number of sections listed in a refusal."""


@dataclass(slots=True)
class WrittenAnswer:
    """Converts a generator's events, in order, to the events of the answer."""

    read: Consultation
    new_builder: Callable[[], CitedAnswerBuilder]
    mode: AnswerMode
    """Mode of the current generator."""
    degraded: tuple[str, ...]
    started: bool = False
    """Whether the first event was sent; before it, a refusal can replace the answer."""
    usage: Usage | None = None
    """Usage of a generator whose text was dropped as unsupported; None if there is none."""
    unsupported: bool = False
    """Whether the answer ended without text because the book supports too little of it."""
    builder: CitedAnswerBuilder = field(init=False)
    _shown: bool = field(default=False, init=False)
    _received: int = field(default=0, init=False)
    """Characters of the generator's text."""
    _discarded: int = field(default=0, init=False)
    """Those before the text of `builder`."""

    def __post_init__(self) -> None:
        self.builder = self.new_builder()

    def start(self) -> Iterator[AnswerEvent]:
        if not self.started:
            self.started = True
            yield Started(self.mode, sources(self.read.context), self.read.confidence)

    def take(self, event: GeneratorEvent) -> Iterator[AnswerEvent]:
        """Yield events; ProviderUnavailable at the end of an empty answer without a reason."""
        if isinstance(event, GeneratedEnd):
            yield from self._end(event)
            return
        yield from self.start()
        if isinstance(event, GeneratorReplaced):
            self.mode = AnswerMode.EXTRACTIVE
            if event.failed:
                self.degraded = tuple(dict.fromkeys((*self.degraded, event.failed)))
                found = replace(self.read.found, degraded=self.degraded)
                self.read = replace(self.read, found=found)
            else:
                self.read = replace(self.read, confidence=Confidence.UNCERTAIN)
        elif isinstance(event, TextDiscarded):
            self._discard()
        elif isinstance(event, GeneratedText):
            self._received += len(event.text)
            yield from self._deltas(*self.builder.write(event.text, numbered=event.numbered))
        elif isinstance(event, GeneratedCitation):
            yield from self._cite(event)
        else:
            yield from self._quote(event)

    def _discard(self) -> None:
        """Drop the text so far, unless the reader has seen supported sentences of it."""
        if not self._shown:
            self.builder, self._discarded = self.new_builder(), self._received

    def _cite(self, event: GeneratedCitation) -> Iterator[AnswerEvent]:
        span = (event.start - self._discarded, event.end - self._discarded)
        if span[0] >= 0:
            yield from self._deltas(*self.builder.cite(span, event.paragraph_ids))

    def _deltas(self, text: str, citations: Sequence[Citation]) -> Iterator[AnswerEvent]:
        if text:
            self._shown = True
            yield TextDelta(text)
        for citation in citations:
            yield CitationFound(citation)

    def _quote(self, event: GeneratedQuote) -> Iterator[AnswerEvent]:
        builder = self.builder
        before = event.before if builder.text else self._notice() + event.before
        quote = Quote(self.read.context[event.passage], event.start, event.end)
        yield from self._deltas(*builder.quote(before, event.text, quote))
        if event.after:
            yield TextDelta(builder.end_quotes(event.after))

    def _notice(self) -> str:
        """Return the notice above the quotations of a hint or an uncertain answer; else ""."""
        analysis = self.read.analysis
        if self.read.exercise and self.read.request.solutions is Solutions.HINT:
            return in_language(HINT, analysis.asked_in) + "\n\n"
        if self.read.confidence is not Confidence.UNCERTAIN:
            return ""
        hints = (
            in_language(UNCERTAIN, analysis.asked_in),
            do_not_mention(self.read.unmentioned),
            other_language(analysis.asked_in, analysis.features.language),
        )
        return " ".join(filter(None, hints)) + "\n\n"

    def _end(self, end: GeneratedEnd) -> Iterator[AnswerEvent]:
        builder, usage = self.builder, self.usage or end.usage
        yield from self._deltas(*builder.close())
        empty, refused = not builder.text.strip(), end.finish_reason == NO_ANSWER
        dropped = empty and self.mode is AnswerMode.GENERATED and not (refused or builder.recited)
        step = end.degraded or (TRUNCATED if builder.truncated else "")
        if (builder.unsupported or dropped) and step in {"", TRUNCATED}:
            step = "unsupported"
            failed_step(step, step, "the book supports too little of the text")
        if step:
            self.degraded = (*self.degraded, step)
        if not empty:
            yield Finished(self._answer(end, usage))
        elif dropped:
            self.unsupported, self.usage = True, usage
        elif not self.started:
            yield from refuse(self.read)
        elif refused or builder.recited:
            yield from finish_refusal(self.read, usage)
        else:
            message = "the generator wrote nothing"
            raise ProviderUnavailable(message)

    def _answer(self, end: GeneratedEnd, usage: Usage) -> Answer:
        builder = self.builder
        statements = builder.statements()
        # The model's citations are stronger evidence than the score.
        sure = self.mode is AnswerMode.GENERATED and builder.citations
        return Answer(
            answer=builder.text,
            mode=self.mode,
            confidence=Confidence.ANSWERED if sure else self.read.confidence,
            citations=builder.citations,
            passages=end.passages,
            sources=sources(self.read.context),
            degraded=self.degraded,
            usage=usage,
            statements=statements,
            citation_precision=builder.precision,
            coverage=coverage(statements),
            exercise=self.read.exercise,
        )


def refuse(read: Consultation) -> Iterator[AnswerEvent]:
    """Yield a refusal from its first event on."""
    sections = nearest_sections(read.found.hits)
    yield Started(AnswerMode.REFUSED, sections, Confidence.NOT_IN_BOOK)
    hint = other_language(read.analysis.asked_in, read.analysis.features.language)
    yield from finish_refusal(read, Usage(), hint)


def finish_refusal(read: Consultation, usage: Usage, hint: str = "") -> Iterator[AnswerEvent]:
    """Yield the rest of a refusal after the Started event."""
    sections = nearest_sections(read.found.hits)
    plain = refusal_text(read.analysis.asked_in, len(sections))
    text = f"{plain} {hint}".rstrip()
    yield TextDelta(text)
    yield Finished(
        Answer(
            answer=text,
            mode=AnswerMode.REFUSED,
            confidence=Confidence.NOT_IN_BOOK,
            sources=sections,
            degraded=read.found.degraded,
            usage=usage,
        )
    )


def sources(context: Sequence[ContextPassage]) -> tuple[Source, ...]:
    """Return the paragraphs of the context, each once, best first."""
    found: dict[str, Source] = {}
    for one in sorted(context, key=lambda one: -one.score):
        found.setdefault(one.passage.paragraph_id, source_of(one))
    return tuple(found.values())


def source_of(one: ContextPassage) -> Source:
    passage = one.passage
    return Source(passage.paragraph_id, passage.url, one.section, passage.heading_path, one.score)


def nearest_sections(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """Return the sections of the best hits, best first."""
    found: dict[tuple[str, tuple[str, ...]], Source] = {}
    for hit in hits:
        chunk = hit.chunk
        source = Source(
            chunk.paragraph_id,
            chunk.deep_link_url,
            chunk.section,
            chunk.heading_path,
            hit.score,
        )
        found.setdefault((chunk.file, chunk.heading_path), source)
    return tuple(found.values())[:NEAREST_SECTIONS]
