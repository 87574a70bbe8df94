"""Input of an extractive answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.answering.question_analysis import QuestionFeatures
from app.domain.answering.units import SplitSentences, Unit, units
from app.domain.retrieval.query import ContextPassage


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """A question's features and the paragraphs found for it."""

    question: QuestionFeatures
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""
    split_sentences: SplitSentences
    translated: bool = False
    """Whether the question is in another language than the context, and a multilingual model
    compares them: then no word needs to match."""

    def units(self, places: Iterable[int] | None = None) -> list[Unit]:
        """Return the units of the paragraphs at these positions of the context; None: of all."""
        return [*units(self.context, self.split_sentences, self.question.language, places)]
