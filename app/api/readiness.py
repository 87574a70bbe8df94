"""Bodies of `/healthz` and `/readyz`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.book_list import QUARANTINED, BooksBody
from app.api.responses import Body
from app.bootstrap.application import Application
from app.domain.answer import AnswerMode


class HealthBody(Body):
    status: Literal["alive"] = "alive"


class EmbedderBody(Body):
    model: str
    dimension: int
    fault: Annotated[
        str | None,
        Field(description="Why questions are not embedded; the search then uses BM25 alone."),
    ] = None


class GeneratorBody(Body):
    mode: Annotated[
        AnswerMode, Field(description="generated: by `model`; extractive: the book's sentences.")
    ]
    model: str | None
    fault: Annotated[
        str | None,
        Field(description="Why the model does not answer; answers are then extractive."),
    ] = None


class DiskBody(Body):
    fault: Annotated[
        Literal["full", "read-only"] | None,
        Field(description="Why no book can be ingested; questions are answered from a copy."),
    ] = None


class ReadyBody(Body):
    status: Annotated[
        Literal["ready", "ready, extractive only"],
        Field(description="extractive only: a model is configured, but does not answer."),
    ]
    books: Annotated[list[str], Field(description="The books that can be asked.")]
    quarantined: Annotated[list[str], Field(description=QUARANTINED)]
    previous: Annotated[
        list[str],
        Field(description="Those of `books` whose index is damaged: the previous one answers."),
    ]
    embedder: EmbedderBody
    generator: GeneratorBody
    disk: DiskBody
    unreadable: Annotated[
        list[str],
        Field(
            description="Of `keys` and `question log` those that are damaged: requests that need a "
            "key are refused; questions are not logged."
        ),
    ]

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
