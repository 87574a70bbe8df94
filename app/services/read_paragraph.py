"""Reads a paragraph of an indexed book by its id or a former id."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.answering.passage_text import passage_markdown
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
        if stored := await self._stored(paragraph_id, books):
            return stored
        for book in books or (None,):
            target = await self.cite.find(paragraph_id, book)
            if target is not None:
                current = target.paragraph_id
                found = None if target.gone else await self._stored(current, (target.book,))
                return found or ParagraphText(current, target.book, target.url)
        return None

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
        book, passage = parts[0].book, parts[0].passage
        text = "\n\n".join("".join(passage_markdown(one.passage)) for one in parts)
        return ParagraphText(paragraph_id, book, passage.url, passage.heading_path, text)
