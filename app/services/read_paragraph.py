"""Reads a paragraph of an indexed book by its id or a former id."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.answering.passage_text import framed_block
from app.domain.book_id import BookId
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import SearchFilter
from app.services.cite import CiteParagraph
from app.services.ports import VectorIndex


@dataclass(frozen=True, slots=True)
class ParagraphText:
    """`text` is Markdown. If the paragraph was removed, it is "", and `url` the nearest section."""

    paragraph_id: str
    book: BookId
    url: str
    heading_path: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class ReadParagraph:
    index: VectorIndex
    cite: CiteParagraph

    async def read(self, paragraph_id: str, books: tuple[BookId, ...] = ()) -> ParagraphText | None:
        """Search these books, or all; None if the id was never used there. Raises BookNotFound."""
        found = await self._stored(paragraph_id, books)
        for book in books or (None,):
            if found is not None:
                break
            target = await self.cite.find(paragraph_id, book)
            if target is not None and not target.gone:
                found = await self._stored(target.paragraph_id, (target.book,))
            if target is not None and found is None:
                found = ParagraphText(target.paragraph_id, target.book, target.url)
        return found

    async def _stored(self, paragraph_id: str, books: tuple[BookId, ...]) -> ParagraphText | None:
        of_it = SearchFilter(books=books, paragraph_ids=(paragraph_id,))
        chunks = await self.index.matching(of_it)
        parts = [
            one
            for one in context_of(chunks, lambda _: 0)
            if one.passage.paragraph_id == paragraph_id and one.book == chunks[0].book
        ]
        if not parts:
            return None
        first = parts[0]
        text = "\n\n".join("".join(framed_block(one.passage)) for one in parts)
        passage = first.passage
        return ParagraphText(paragraph_id, first.book, passage.url, passage.heading_path, text)
