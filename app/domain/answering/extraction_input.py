"""What an extractive answer is made from, and the signals that choose its sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.answering.units import SplitSentences
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import Terms


class Rule(StrEnum):
    DEFINITION = "definition score"
    SIMILARITY = "embedding similarity"
    RETRIEVAL = "retrieval score"
    COMPARISON = "comparison"
    ANNOUNCEMENT = "announcements"


ALL_RULES = frozenset(Rule)


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """A question with the paragraphs that were found for it."""

    question: str
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""
    weights: Mapping[int, float]
    """Term to its weight: its rarity in the book."""
    terms: Terms
    split_sentences: SplitSentences
    language: str = "en"
    """Language of the book: an ISO 639-1 code."""
