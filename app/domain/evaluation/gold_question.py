"""Questions with known answers, for evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from app.domain.book_id import BookId
from app.domain.retrieval.query import Turn


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """`source[start:end]` of the file answers the question; code points."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    question: str
    kind: str = "question"
    answerable: bool = True
    """False: the book does not answer it; the right reply is a refusal."""
    gold: tuple[GoldSpan, ...] = ()
    gold_file: str = ""
    """The file with the answer; any file of a folder if it ends with "/"."""
    filter_file: str = ""
    """Search this file only."""
    history: tuple[Turn, ...] = ()
    book: BookId | None = None
    """The book that the question is about; None if the set does not name it."""
    key_facts: tuple[str, ...] = ()
    """Regular expressions; each one matches a text that answers the question."""
    gold_all: bool = False
    """Whether an answer needs all gold spans; otherwise any one is enough."""
    half: str = ""
    """"development" or "final" of a set that is split for tuning; else ""."""

    @property
    def alternatives(self) -> bool:
        """Whether each gold span is a whole answer, not a part of one."""
        return self.kind in {"term", "definition"} or self.kind.startswith("multi-turn")

    @property
    def gold_files(self) -> tuple[str, ...]:
        """The named gold files, without folders."""
        named = [gold.file for gold in self.gold] or [self.gold_file]
        return tuple(dict.fromkeys(file for file in named if not file.endswith("/") and file))


def fingerprint(questions: Sequence[Question]) -> str:
    """Return 16 hex digits that depend on the questions and their gold."""
    return sha256(repr(list(questions)).encode(errors="replace")).hexdigest()[:16]
