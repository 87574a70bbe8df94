"""Bodies of `/healthz` and `/readyz`."""

from __future__ import annotations

from typing import Literal

from app.api.book_list import BooksBody
from app.api.responses import Body
from app.bootstrap.application import Application


class HealthBody(Body):
    status: Literal["alive"] = "alive"


class ReadyBody(Body):
    status: Literal["ready", "ready, extractive only"]
    """extractive only: a model is configured, but does not answer."""
    books: list[str]
    """The books that can be asked."""
    quarantined: list[str]
    """Ids of books whose index is damaged: they are left out until they are repaired."""
    previous: list[str]
    """Those of `books` whose index is damaged: the previous one answers."""
    embedder: str
    generator: str
    """The model; "" if answers are the book's own sentences."""
    faults: dict[str, str]
    """By part, why it fails. embedder: questions are not embedded, the search uses BM25 alone;
    generator: answers are extractive; disk: nothing can be ingested, questions are answered from a
    copy; keys: requests that need a key are refused; question log: nothing is logged."""

    @classmethod
    async def of(cls, rag: Application, found: BooksBody) -> ReadyBody:
        faults = await rag.faults()
        return cls(
            status="ready, extractive only" if "generator" in faults else "ready",
            books=[book.id for book in found.books],
            quarantined=found.quarantined,
            previous=[book.id for book in found.books if book.state == "previous"],
            embedder=rag.embedder.space,
            generator=rag.answer.model,
            faults=faults,
        )
