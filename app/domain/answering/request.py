"""A question with its conversation, page, scope and selected text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, takewhile

from app.domain.answering.exercises import Solutions
from app.domain.answering.intents import Intent
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.errors import QuestionError
from app.domain.retrieval.query import Hit, SearchFilter, Turn
from app.domain.terms import joined_words

ON_PAGE = 2.0
"""Factor on the score of hits on the reader's page if no scope is set. Of 139 students' and table
questions the key facts are shown for 105 on the page that has them, for 100 on any other page of
the book; with 1.1 for 102 and 101, with 3 for 106 and 100."""


class Scope(StrEnum):
    PAGE = "page"
    CHAPTER = "chapter"
    BOOK = "book"
    SO_FAR = "so_far"
    """The book up to the end of the reader's chapter."""


NEEDS_PAGE = frozenset({Scope.PAGE, Scope.CHAPTER, Scope.SO_FAR})


def narrowed(
    filter: SearchFilter, scope: Scope | None, page: Chunk, chapter_end: int | None = None
) -> SearchFilter:
    """Narrow the filter to the scope; without a scope it stays as it was.

    `page` is a chunk of the reader's page. `chapter_end` is the last position of its chapter; None
    means the end of the book.
    """
    if scope is None:
        return filter
    within = replace(filter, books=(page.book,))
    if scope is Scope.PAGE or (scope is Scope.CHAPTER and not page.chapter):
        return replace(within, files=(page.file,))
    if scope is Scope.CHAPTER:
        return replace(within, chapters=(page.chapter,))
    if scope is Scope.SO_FAR:
        return replace(within, max_position=chapter_end)
    return within


def page_preferred(hits: Sequence[Hit], page: Chunk) -> tuple[Hit, ...]:
    """Sort the hits by score, which counts `ON_PAGE` times on the reader's page."""
    weighed = [
        replace(hit, score=min(1.0, hit.score * ON_PAGE))
        if (hit.chunk.book, hit.chunk.file) == (page.book, page.file)
        else hit
        for hit in hits
    ]
    return tuple(sorted(weighed, key=lambda hit: -hit.score))


SEARCHED_CHARS = 1_000
"""Characters of a long selection that are searched for."""


@dataclass(frozen=True, slots=True)
class Selection:
    text: str
    paragraph_id: str = ""
    """Id of the paragraph with the selection, if the page sends it."""

    def search_text(self, question: str) -> str:
        return f"{question} {self.text[:SEARCHED_CHARS].strip()}"

    def question_text(self, question: str) -> str:
        """The question for a generator, with the selection quoted as data."""
        quoted = "\n".join(f"> {line}" for line in self.text.strip().splitlines())
        return f"{question}\n\nThe question is about this text, selected on the page:\n{quoted}"


def selected_paragraph(
    selection: Selection, named: Sequence[Chunk], hits: Sequence[Hit]
) -> list[Hit]:
    """Return hits with the selected paragraph only, of score 1; empty if it is not found.

    `named` are the chunks with the paragraph that the page named. If empty, the paragraph is looked
    for among the hits by its text.
    """
    wanted = joined_words(selection.text)

    def is_selected(one: Passage) -> bool:
        if named:
            return one.paragraph_id == selection.paragraph_id
        found = bool(wanted) and wanted in joined_words(one.text)
        return found and one.kind is not BlockKind.HEADING

    chunks = named or [hit.chunk for hit in hits]
    found = [(chunk, tuple(filter(is_selected, chunk.passages))) for chunk in chunks]
    return [Hit(replace(chunk, passages=held), 1.0) for chunk, held in found if held]


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
    """The reader's page, as URL or path; its hits count more (`ON_PAGE`) unless `scope` is set."""
    scope: Scope | None = None
    selection: Selection | None = None
    solutions: Solutions = Solutions.HINT
    """What is shown if the question is an exercise of the book."""
    exercise: str = ""
    """Id of the exercise, if known; otherwise it is detected."""
    intent: Intent | None = None
    """The part of the book that a button requests; otherwise it is recognised in the question."""
    by_reader: bool = False
    """Only questions of readers are logged, not those of commands."""


def recent(
    history: Sequence[Turn], token_budget: int, count_tokens: Callable[[str], int]
) -> tuple[Turn, ...]:
    """Return the latest turns that fit the budget; if the last one does not, its beginning."""
    totals = accumulate(count_tokens(turn.content) for turn in reversed(history))
    fitting = len([*takewhile(lambda total: total <= token_budget, totals)])
    if fitting or not (history and token_budget):
        return tuple(history[len(history) - fitting :])
    last = history[-1]
    end = len(last.content) * token_budget // count_tokens(last.content)
    return (replace(last, content=last.content[:end]),)


MAX_QUESTION_CHARS = 4_000
"""About a page. A longer text is no question, and a model would be paid for it."""


def require_question(text: str) -> None:
    """QuestionError if the text is empty, or too long for a question."""
    if not text.strip():
        raise QuestionError("the question is empty: ask with at least one word")
    if len(text) > MAX_QUESTION_CHARS:
        message = f"the question is too long: at most {MAX_QUESTION_CHARS:,} characters are allowed"
        raise QuestionError(message)
