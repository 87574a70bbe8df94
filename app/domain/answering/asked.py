"""A question taken apart: what it asks of, and in which form the answer comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.answering.comparison import Subject, compared
from app.domain.answering.definitions import defined_terms, name_asked
from app.domain.answering.names import Name
from app.domain.terms import Terms


@dataclass(frozen=True, slots=True)
class Asked:
    """The question, taken apart."""

    weights: Mapping[int, float]
    """Term to its share of the question; the shares add up to 1."""
    defined: frozenset[int]
    """The terms of X in "what is X?", else empty."""
    name: Name
    """The words of X as they are written."""
    compared: tuple[Subject, ...]
    """What is set against each other, if anything is."""

    @classmethod
    def of(cls, question: str, weights: Mapping[int, float], terms: Terms) -> Asked:
        """`weights` are of all its terms, in any unit."""
        total = sum(weights.values()) or 1.0
        return cls(
            weights={term: weight / total for term, weight in weights.items()},
            defined=defined_terms(question, terms),
            name=name_asked(question),
            compared=compared(question, terms),
        )
