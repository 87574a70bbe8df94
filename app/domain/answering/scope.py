"""How much of the book may answer, as seen from the page that the reader is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.book_id import BookId
from app.domain.retrieval.query import Hit, SearchFilter

ON_PAGE = 1.1
"""Factor on the score of a hit on the reader's page when no scope is asked for: enough to decide
between near equals, too little to lift a weak hit over a clear one."""


class Scope(StrEnum):
    PAGE = "page"
    CHAPTER = "chapter"
    BOOK = "book"
    SO_FAR = "so_far"
    """Nothing beyond the chapter that the reader has reached."""
    SELECTION = "selection"
    """The paragraph of the selected text alone."""


NEEDS_PAGE = frozenset({Scope.PAGE, Scope.CHAPTER, Scope.SO_FAR})


@dataclass(frozen=True, slots=True)
class PageLocation:
    """A page of a book."""

    book: BookId
    file: str
    chapter: str
    position: int
    """In the reading order."""


def narrowed(
    filter: SearchFilter, scope: Scope | None, place: PageLocation, chapter_end: int | None = None
) -> SearchFilter:
    """The filter with what the scope leaves of the book; without a scope, as it was.

    `chapter_end` is the last position that the place's chapter reaches; None is the book's end.
    """
    if scope is None:
        return filter
    within = replace(filter, books=(place.book,))
    if scope is Scope.PAGE or (scope is Scope.CHAPTER and not place.chapter):
        return replace(within, files=(place.file,))
    if scope is Scope.CHAPTER:
        return replace(within, chapters=(place.chapter,))
    if scope is Scope.SO_FAR:
        return replace(within, max_position=chapter_end)
    return within


def page_preferred(hits: Sequence[Hit], place: PageLocation) -> tuple[Hit, ...]:
    """The hits by score, those on the reader's page counted a little higher."""
    weighed = [
        replace(hit, score=min(1.0, hit.score * ON_PAGE))
        if (hit.chunk.book, hit.chunk.file) == (place.book, place.file)
        else hit
        for hit in hits
    ]
    return tuple(sorted(weighed, key=lambda hit: -hit.score))
