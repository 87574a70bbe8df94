"""A question as every later step takes it: analysed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.terms import Terms


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    question: str
    standalone: str
    """As it was searched for, which leans on no earlier turn."""
    language: str
    """The book's, as an ISO 639-1 code."""
    terms: Terms
    weights: Mapping[int, float]
    """How much each of the question's terms tells: its rarity in the book."""
