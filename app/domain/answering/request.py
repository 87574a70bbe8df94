"""A question as it is put to the book, with all that says how it is to be answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.domain.answering.exercises import Solutions
from app.domain.answering.scope import Scope
from app.domain.answering.selection import Selection
from app.domain.retrieval.query import SearchFilter, Turn

ANSWER_CHUNKS = 8
"""Chunks that an answer is made from."""


@dataclass(frozen=True, slots=True)
class AskRequest:
    question: str
    filter: SearchFilter = field(default_factory=SearchFilter)
    history: tuple[Turn, ...] = ()
    k: int = ANSWER_CHUNKS
    """Chunks that the answer is made from."""
    page_url: str = ""
    """The page the reader is on, as URL or path: preferred a little unless `scope` says more."""
    scope: Scope | None = None
    selection: Selection | None = None
    solutions: Solutions = Solutions.HINT
    """What is told when the question is an exercise of the book."""
    exercise: str = ""
    """Id of the exercise that the question is, if that is known; else it is looked for."""

    @property
    def question_with_selection(self) -> str:
        return self.selection.question_text(self.question) if self.selection else self.question
