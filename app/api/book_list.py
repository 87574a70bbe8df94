"""Which books the server has, and which of its parts fail: `/v1/books` and `/readyz`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from app.api.responses import Body
from app.bootstrap.application import Application
from app.domain.book_id import BookId
from app.domain.indexed_book import BookManifest


class BooksBody(Body):
    books: list[BookManifest]
    """Each edition of a book, too."""
    previous: list[str]
    """Ids of those whose index is damaged: the previous one answers."""
    quarantined: list[str]
    """Ids of books whose index is damaged: they are left out until they are repaired."""
    feedback: bool
    """Whether `POST /v1/feedback` is accepted: answers have an `answer_id`."""

    @classmethod
    async def of(cls, rag: Application, asked: Collection[BookId] = ()) -> BooksBody:
        """Return the books of the index, or only those of `asked`."""
        found, damaged = await rag.index.books(), await rag.index.damaged()
        books = [one for book, one in found.items() if not asked or book.name in asked]
        return cls(
            books=books,
            previous=[one.book for one in books if one.book in damaged],
            quarantined=[
                book
                for book, damage in damaged.items()
                if not damage.answers and (not asked or book.name in asked)
            ],
            feedback=rag.question_log is not None,
        )


class ReadyBody(Body):
    status: Literal["ready", "ready, extractive only"]
    """extractive only: a model is configured, but does not answer."""
    books: list[str]
    """The books that can be asked."""
    previous: list[str]
    quarantined: list[str]
    embedder: str
    generator: str
    """The model; "" if answers are the book's own sentences."""
    faults: dict[str, str]
    """By part, why it fails. embedder: questions are not embedded, the search uses BM25 alone;
    generator: answers are extractive; disk: nothing can be ingested, questions are answered from a
    copy; keys: requests that need a key are refused; question log: nothing is logged."""

    @classmethod
    def of(cls, rag: Application, found: BooksBody, faults: Mapping[str, str]) -> ReadyBody:
        return cls(
            status="ready, extractive only" if "generator" in faults else "ready",
            books=[one.book for one in found.books if one.book == one.book.name],
            previous=found.previous,
            quarantined=found.quarantined,
            embedder=rag.embedder.space,
            generator=rag.answer.model,
            # Where the files are is not public.
            faults={**faults, **dict.fromkeys(faults.keys() & {"keys", "question log"}, "damaged")},
        )
