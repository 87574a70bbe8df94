"""A question with a known answer, as evaluation uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from app.domain.retrieval.query import Turn


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """`source[start:end]` of this file answers the question; code points."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    question: str
    kind: str
    answerable: bool = True
    """False: the right reply is that the corpus does not say."""
    gold: tuple[GoldSpan, ...] = ()
    gold_file: str = ""
    """The file that answers; with a "/" at the end a folder, any file in it counts."""
    filter_file: str = ""
    """Ask within this file only."""
    history: tuple[Turn, ...] = ()
    language: str = "en"

    @property
    def alternatives(self) -> bool:
        """Whether each gold span is a whole answer, rather than one part of the answer."""
        return self.kind in {"term", "definition"} or self.kind.startswith("multi-turn")


def fingerprint(questions: Sequence[Question]) -> str:
    """Sixteen hex digits that change with any question, gold or order."""
    return sha256(repr(tuple(questions)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
