"""Answers made of the book's own sentences: a generator without a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.answer import AnswerMode, Usage
from app.domain.answering.extraction_input import ExtractionInput
from app.domain.answering.extractive import ExtractiveAnswer, extract, quotable
from app.domain.answering.units import SplitSentences
from app.domain.prompting import NO_ANSWER
from app.services.ports import (
    GeneratedEnd,
    GeneratedQuote,
    GenerationRequest,
    GeneratorEvent,
)


class Similarity(Protocol):
    async def likeness(self, question: str, texts: Sequence[str], language: str) -> Sequence[float]:
        """The cosine of the question and each of the texts."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Quotes what answers best; NO_ANSWER when nothing touches the question."""

    split_sentences: SplitSentences
    similarity: Similarity

    @property
    def model(self) -> str:
        return ""

    @property
    def mode(self) -> AnswerMode:
        return AnswerMode.EXTRACTIVE

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
        analysis = request.analysis
        given = ExtractionInput(
            analysis.question,
            request.context,
            analysis.weights,
            analysis.terms,
            self.split_sentences,
            analysis.language,
        )
        units = quotable(given, read=request.selected)
        # What has no word of the question is not quoted for its similarity alone.
        asked = analysis.weights.keys()
        near = [at for at, unit in enumerate(units) if asked & analysis.terms(unit.text)]
        cosines = await self.similarity.likeness(
            analysis.standalone, [units[at].text for at in near], analysis.language
        )
        similar = dict(zip(near, cosines, strict=True))
        return extract(given, units, [similar.get(at, 0.0) for at in range(len(units))])
