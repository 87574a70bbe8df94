"""Adds the book's own figures to an answer."""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from app.domain.answer import Answer, AnswerPassage
from app.domain.answering.figures import (
    MAX_FIGURES,
    PageFigure,
    asked_figure,
    asks_for_figure,
    page_figures,
)
from app.domain.answering.passages import MAX_PASSAGES
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import RagError
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.urls import origin_of
from app.services.book_scope import BookCache
from app.services.consultation import Consultation
from app.services.ports import VectorIndex

_CACHED_PAGES = 1_000
"""Pages in the cache; of most it has nothing."""
_SEARCHED_HITS = 5
"""Hits on whose pages the figure is looked for that a question asks for."""

_log = logging.getLogger(__name__)


class ShowFigures:
    """The use case. Pages are read from the index, and their figures cached."""

    def __init__(self, index: VectorIndex, origins: Collection[str] = ()) -> None:
        """`origins` of images besides that of the book, such as `https://cdn.example`."""
        self._origins = origins
        self._pages = BookCache(index, _figures_of, _CACHED_PAGES)

    async def of(self, answer: Answer, read: Consultation) -> Answer:
        """Return the answer with its figures; unchanged if a page cannot be read."""
        if answer.refused or not read.context:
            return answer
        try:
            return await self._with_figures(answer, read)
        except RagError as error:
            _log.warning("answer.figures_failed", extra={"error": error.code})
            return answer

    async def _with_figures(self, answer: Answer, read: Consultation) -> Answer:
        shown = {name for one in answer.passages for name in one.paragraph_ids}
        shown |= {one.paragraph_id for one in answer.citations}
        on = [(one.book, one.file) for one in read.context if one.passage.paragraph_id in shown]
        near = [one for one in await self._figures(on, read) if one.is_brought_by(shown)]
        asked = await self._asked(read)
        found = [*([asked] if asked else []), *near]
        figures = tuple(dict.fromkeys(one.figure for one in found))[:MAX_FIGURES]
        near = [one for one in near if one.figure in figures]
        passages = [*_with_figures(answer.passages, near)]
        if asked and passages and asked.figure not in passages[0].figures:
            passages = _with_first(asked.passage, passages)
        return replace(answer, passages=tuple(passages), figures=figures)

    async def _asked(self, read: Consultation) -> PageFigure | None:
        if read.exercise or not asks_for_figure(read.request.question):
            return None
        pages = [(hit.chunk.book, hit.chunk.file) for hit in read.found.hits[:_SEARCHED_HITS]]
        return asked_figure(read.request.question, read.analysis, await self._figures(pages, read))

    async def _figures(
        self, pages: Sequence[tuple[BookId, str]], read: Consultation
    ) -> list[PageFigure]:
        """Return the figures of these pages that may be shown."""
        found = []
        for book, file in dict.fromkeys(pages):
            manifest = read.scope.books[book]
            allowed = {"", origin_of(manifest.base_url), *self._origins}
            page = await self._pages.of(manifest, (file,))
            found += [one for one in page if origin_of(one.figure.url) in allowed]
        return found


def _figures_of(page: Sequence[Chunk]) -> Sequence[PageFigure]:
    paragraphs = [one for _, one in paragraphs_of(page)]
    return tuple(page_figures(paragraphs, page[0].book)) if page else ()


def _with_first(first: AnswerPassage, others: Sequence[AnswerPassage]) -> list[AnswerPassage]:
    """Return the passages after `first`, without those that repeat its paragraphs or figure."""
    rest = [
        replace(one, figures=tuple(own for own in one.figures if own not in first.figures))
        for one in others
        if not {*first.paragraph_ids} & {*one.paragraph_ids}
    ]
    return [first, *rest][:MAX_PASSAGES]


def _with_figures(
    passages: Sequence[AnswerPassage], figures: Sequence[PageFigure]
) -> Iterator[AnswerPassage]:
    """Yield the passages, each figure in the first one that has a paragraph at it."""
    left = [*figures]
    for passage in passages:
        own = [one for one in left if not one.near.isdisjoint(passage.paragraph_ids)]
        left = [one for one in left if one not in own]
        yield replace(passage, figures=tuple(one.figure for one in own))
