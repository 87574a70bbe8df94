"""Bodies of `/healthz` and `/readyz`."""

from __future__ import annotations

from typing import Literal

from app.api.book_list import BooksBody
from app.api.responses import Body
from app.bootstrap.application import Application
from app.domain.answer import AnswerMode


class HealthBody(Body):
    status: Literal["alive"] = "alive"


class EmbedderBody(Body):
    model: str
    dimension: int
    fault: str | None = None
    """Why questions are not embedded; the search then uses BM25 alone."""


class GeneratorBody(Body):
    mode: AnswerMode
    """generated: by `model`; extractive: the book's sentences."""
    model: str | None
    fault: str | None = None
    """Why the model does not answer; answers are then extractive."""


class DiskBody(Body):
    fault: Literal["full", "read-only"] | None = None
    """Why no book can be ingested; questions are answered from a copy."""


class ReadyBody(Body):
    status: Literal["ready", "ready, extractive only"]
    """extractive only: a model is configured, but does not answer."""
    books: list[str]
    """The books that can be asked."""
    quarantined: list[str]
    """Ids of books whose index is damaged: they are left out until they are repaired."""
    previous: list[str]
    """Those of `books` whose index is damaged: the previous one answers."""
    embedder: EmbedderBody
    generator: GeneratorBody
    disk: DiskBody
    unreadable: list[str]
    """Of `keys` and `question log` those that are damaged: requests that need a key are refused;
    questions are not logged."""

    @classmethod
    async def of(cls, rag: Application, found: BooksBody, unreadable: list[str]) -> ReadyBody:
        model_fault = await rag.model_fault() or None
        return cls(
            unreadable=unreadable,
            status="ready, extractive only" if model_fault else "ready",
            books=[book.id for book in found.books],
            quarantined=found.quarantined,
            previous=[book.id for book in found.books if book.state == "previous"],
            embedder=EmbedderBody(
                model=rag.embedder.space,
                dimension=rag.embedder.dimension,
                fault=await rag.embedder_fault() or None,
            ),
            generator=GeneratorBody(
                mode=AnswerMode.GENERATED if rag.answer.model else AnswerMode.EXTRACTIVE,
                model=rag.answer.model or None,
                fault=model_fault,
            ),
            disk=DiskBody.model_validate({"fault": (await rag.disk()).fault or None}),
        )
