"""Extractive answers: verbatim passages of the book, chosen without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.domain.answering.extractive import ExtractiveAnswer, extract
from app.domain.answering.relevance import Relevance
from app.domain.answering.units import SplitSentences
from app.services.consultation import Consultation
from app.services.similarity import SimilarityEncoder


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


@dataclass(frozen=True, slots=True)
class ExtractAnswer:
    """The use case."""

    split_sentences: SplitSentences
    similarity: SimilarityEncoder
    paragraphs: Sequence[ParagraphScorer] = ()
    """The first one that reads the languages scores the paragraphs."""

    async def of(self, read: Consultation) -> ExtractiveAnswer:
        """Return the best passages of the context; no claims if none matches the question."""
        if read.prepared:
            return read.prepared
        analysis, context = read.analysis, read.context
        language = analysis.features.language
        languages = analysis.asked_in, language
        model = next((one for one in self.paragraphs if one.reads(*languages)), None)
        translated = model is not None and analysis.asked_in != language
        relevance = Relevance(
            analysis.features, context, self.split_sentences, translated=translated
        )
        compared = relevance.compared_texts()
        cosines = await self.similarity.similarities(analysis.vector, compared, language)
        scored = await _scored(read, model) if model else {}
        return extract(replace(relevance, readings=scored, cosines=cosines), read=read.selected)


async def _scored(read: Consultation, model: ParagraphScorer) -> dict[int, float]:
    """Return position -> relevance of the paragraphs that the model has read.

    It reads those of the best hits first.
    """
    context = read.context
    order = sorted(range(len(context)), key=lambda at: -context[at].score)
    passages = [context[at].passage for at in order]
    headed = [(" > ".join(one.heading_path), one.text) for one in passages]
    scores = await model.scores(read.analysis.compared, headed)
    found = zip(order, scores, strict=True)
    return {at: score for at, score in found if score is not None}
