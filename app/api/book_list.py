"""The books of the index as the API lists them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.api.responses import Body
from app.bootstrap.application import Application
from app.domain.book_id import BookId
from app.domain.indexed_book import BookManifest


class EditionBody(Body):
    """A version and locale of a book."""

    version: str
    """As the site names it; "" if there is only one."""
    locale: str
    """As the site names it; "" if there is only one."""
    base_url: str
    """URL below which the edition's pages are."""
    files: int
    chunks: int


class BookBody(Body):
    # The aliases are the names of `BookManifest`.
    model_config = ConfigDict(populate_by_name=True)

    id: Annotated[str, Field(validation_alias="book")]
    title: str
    version: Annotated[str, Field(validation_alias="book_version")]
    """Hash of the content of the book's files."""
    language: str
    site: str
    base_url: str
    files: int
    chunks: int
    tokens: int
    strategy: str
    model: str
    """The embedding model of the book's index."""
    dimension: int
    created_at: str
    """Time of the ingest: ISO 8601, UTC."""
    state: Literal["ready", "previous"] = "ready"
    """previous: the index is damaged; the previous one answers."""
    editions: Annotated[list[EditionBody], Field(default_factory=list)]
    """If the book has several versions or locales; the default one first."""

    @classmethod
    def of(
        cls, manifest: BookManifest, *, damaged: bool, editions: Sequence[BookManifest]
    ) -> BookBody:
        body = cls.model_validate(manifest)
        body.state = "previous" if damaged else "ready"
        body.editions = [EditionBody.model_validate(one) for one in editions]
        return body


class BooksBody(Body):
    books: list[BookBody]
    quarantined: list[str]
    """Ids of books whose index is damaged: they are left out until they are repaired."""
    feedback: bool = False
    """Whether `POST /v1/feedback` is accepted: answers have an `answer_id`."""

    @classmethod
    async def of(cls, rag: Application, asked: Collection[BookId] = ()) -> BooksBody:
        """Return the books of the index, or only those of `asked`."""
        found, damaged = await rag.index.books(), await rag.index.damaged()
        editions = found.with_editions
        return cls(
            books=[
                BookBody.of(one, damaged=book in damaged, editions=editions.get(book, ()))
                for book, one in found.items()
                if book == book.name and (not asked or book in asked)
            ],
            quarantined=[
                book
                for book, damage in damaged.items()
                if not damage.answers and (not asked or book.name in asked)
            ],
            feedback=rag.question_log is not None,
        )
