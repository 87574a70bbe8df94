"""The port `Generator`, an implementation that quotes the book, and a fallback between two.

Adapters implement the port for Cohere and for servers of the OpenAI protocol.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from app.domain.answer import AnswerMode, AnswerPassage, Confidence, Usage
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.relevance import Relevance
from app.domain.answering.units import SplitSentences
from app.domain.errors import BudgetSpent, ProviderError, ProviderUnavailable
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Turn, Vector
from app.services.provider_failures import degraded_by

_log = logging.getLogger(__name__)

READ_FACTOR = 5.0
"""Factor on the score of a model that reads question and paragraph, in place of their cosine: with
it, it weighs as much as the retrieval score. Not fitted."""


@dataclass(frozen=True, slots=True)
class GeneratedText:
    text: str
    numbered: tuple[str, ...] = ()
    """Ids of the paragraphs that markers [1], [2], ... in the text cite, so that uncited sentences
    can be attributed during the stream. Without them, citations may come until the end."""


@dataclass(frozen=True, slots=True)
class GeneratedCitation:
    """`text[start:end]` of the whole answer is supported by these paragraphs."""

    start: int
    end: int
    paragraph_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GeneratedEnd:
    usage: Usage
    finish_reason: str
    passages: tuple[AnswerPassage, ...] = ()
    """The passages quoted; empty if a model wrote."""
    degraded: str = ""
    """Entry of `degraded` if the answer is not complete, else ""."""


@dataclass(frozen=True, slots=True)
class TextDiscarded:
    """The text so far was not the answer but the model's reasoning; offsets continue."""


@dataclass(frozen=True, slots=True)
class GeneratedQuote:
    """A quotation: `text` is `context[passage].passage.text[start:end]` without mark-up.

    `before` precedes it, `after` follows it: mark-up, or text of the book beside the quotation.
    """

    text: str
    passage: int
    start: int
    end: int
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class GeneratorReplaced:
    """The model wrote nothing; the following events are the quotations that replace its answer."""

    failed: str = ""
    """Entry of `degraded` if it failed; "" if it found no answer in the context."""


GeneratorEvent: TypeAlias = (
    GeneratedText
    | GeneratedCitation
    | GeneratedQuote
    | TextDiscarded
    | GeneratorReplaced
    | GeneratedEnd
)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Input of a generator."""

    question: str
    """The question; text that the reader selected is quoted in it."""
    history: Sequence[Turn]
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""
    analysis: QuestionAnalysis
    selected: str = ""
    """Text that the reader has selected."""
    prepared: ExtractiveAnswer | None = None
    """An answer made of parts of the context, such as the solution of an exercise or a chapter's
    summary. It is used without a model."""
    scored: Confidence = Confidence.ANSWERED
    """Confidence by the answerability score alone."""


class Generator(Protocol):
    """Writes an answer from paragraphs given as documents."""

    @property
    def model(self) -> str:
        """Name of the model; "" without one."""
        ...

    @property
    def mode(self) -> AnswerMode: ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations in any order, or quotations, then exactly one GeneratedEnd.

        If the context has no answer, there is no text and `finish_reason` is NO_ANSWER.
        Raises ProviderError.
        """
        ...


class ParagraphScorer(Protocol):
    def reads(self, asked_in: str, language: str) -> bool:
        """Whether the model understands questions in `asked_in` about books in `language`."""
        ...

    async def scores(
        self, question: str, paragraphs: Sequence[tuple[str, str]]
    ) -> Sequence[float | None]:
        """Return the relevance of each paragraph, 0 to 1; None if there was no time to read it.

        They are read in this order. A paragraph is given as (heading path, text), since only a
        heading may name its subject.
        """
        ...


class Similarity(Protocol):
    async def similarities(
        self, asked: Vector, texts: Sequence[str], language: str
    ) -> Mapping[str, float]:
        """Return text -> cosine with the question, -1 to 1; `asked` is the question's vector."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Quotes the best passages; NO_ANSWER if no passage matches the question."""

    model = ""
    mode = AnswerMode.EXTRACTIVE
    split_sentences: SplitSentences
    similarity: Similarity
    paragraphs: Sequence[ParagraphScorer] = ()
    """The first one that reads the languages scores the paragraphs; otherwise `similarity` does."""

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        extracted = await self._extracted(request)
        written = 0
        for at, ((start, end), unit) in enumerate(extracted.claims, 1):
            last = at == len(extracted.claims)
            yield GeneratedQuote(
                text=extracted.text[start:end],
                passage=unit.passage,
                start=unit.start,
                end=unit.end,
                before=extracted.text[written:start],
                after=extracted.text[end:] if last else "",
            )
            written = end
        finish_reason = "COMPLETE" if extracted.claims else NO_ANSWER
        yield GeneratedEnd(Usage(), finish_reason, extracted.passages)

    async def _extracted(self, request: GenerationRequest) -> ExtractiveAnswer:
        if request.prepared:
            return request.prepared
        analysis, context = request.analysis, request.context
        language = analysis.features.language
        languages = analysis.asked_in, language
        model = next((one for one in self.paragraphs if one.reads(*languages)), None)
        translated = model is not None and analysis.asked_in != language
        given = ExtractionInput(
            analysis.features, context, self.split_sentences, translated=translated
        )
        paragraphs = [one.titled_text for one in context]
        compared = [*paragraphs, *Relevance(given).compared_texts()]
        cosines = await self.similarity.similarities(analysis.vector, compared, language)
        read = await _read(request, model) if model else {}
        scores = [read.get(at, cosines[text]) for at, text in enumerate(paragraphs)]
        return extract(Relevance(given, scores, cosines), read=request.selected)


async def _read(request: GenerationRequest, model: ParagraphScorer) -> dict[int, float]:
    """Return position -> weighted relevance of the paragraphs that the model has read.

    It reads those of the best hits first.
    """
    context = request.context
    order = sorted(range(len(context)), key=lambda at: -context[at].score)
    passages = [context[at].passage for at in order]
    headed = [(" > ".join(one.heading_path), one.text) for one in passages]
    scores = await model.scores(request.analysis.compared, headed)
    found = zip(order, scores, strict=True)
    return {at: READ_FACTOR * score for at, score in found if score is not None}


@dataclass(frozen=True, slots=True)
class FallbackGenerator:
    """Uses `first`, or `second` if `first` fails before any text.

    A failure after the first text ends the answer there, as degraded. A failure before it is raised
    if `second` has no answer either, or if the question's score alone would refuse it. A spent
    budget is never raised. `second` is also used if `first` finds no answer although the score
    reaches the answer threshold.
    """

    mode = AnswerMode.GENERATED
    first: Generator
    second: Generator

    @property
    def model(self) -> str:
        return self.first.model

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        written = False
        given_up: GeneratedEnd | ProviderError | None = None
        try:
            async with aclosing(self.first.generate(request)) as events:
                async for event in events:
                    written = _written(event, before=written)
                    if isinstance(event, GeneratedEnd) and not self._accepts(
                        event, request, written=written
                    ):
                        given_up = event
                        break
                    yield event
                    if isinstance(event, GeneratedEnd):
                        return
            if given_up is None:
                message = "the generator stopped before the end of its answer"
                raise ProviderUnavailable(message)
        except ProviderError as error:
            if written:
                failed = degraded_by(_log, "answer.generator_failed", "generator", error)
                yield GeneratedEnd(Usage(), "ERROR", degraded=failed)
                return
            refusable = request.scored is Confidence.NOT_IN_BOOK
            if refusable and not isinstance(error, BudgetSpent):
                raise
            given_up = error
        for replacing in await self._quoted(request, given_up):
            yield replacing

    def _accepts(self, end: GeneratedEnd, request: GenerationRequest, *, written: bool) -> bool:
        """Return False if a refusal is to be replaced. ProviderUnavailable without text."""
        if not written and end.finish_reason != NO_ANSWER:
            message = "the generator wrote nothing"
            raise ProviderUnavailable(message)
        return written or request.scored is not Confidence.ANSWERED

    async def _quoted(
        self, request: GenerationRequest, given_up: GeneratedEnd | ProviderError
    ) -> list[GeneratorEvent]:
        """Return the events of `second`; if it has no answer, the end of `first` or its failure."""
        quoted = [event async for event in self.second.generate(request)]
        nothing = isinstance(quoted[0], GeneratedEnd)
        if isinstance(given_up, ProviderError):
            if nothing and not isinstance(given_up, BudgetSpent):
                raise given_up
            failed = degraded_by(_log, "answer.generator_failed", "generator", given_up)
            return [GeneratorReplaced(failed), *quoted]
        if nothing:
            return [given_up]
        usage = given_up.usage
        billed = [
            replace(one, usage=usage) if isinstance(one, GeneratedEnd) else one for one in quoted
        ]
        return [GeneratorReplaced(), *billed]


def _written(event: GeneratorEvent, *, before: bool) -> bool:
    """Whether there is text of the answer after this event."""
    if isinstance(event, TextDiscarded):
        return False
    return before or (isinstance(event, GeneratedText) and bool(event.text.strip()))
