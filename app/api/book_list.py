"""The books of the index as the API lists them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from app.api.responses import QUARANTINED, Body
from app.domain.book_id import BookId
from app.services.ports import BookManifest, Damage


class EditionBody(Body):
    """A version and locale of a book."""

    version: Annotated[str, Field(description='As the site names it; "" if there is only one.')]
    locale: Annotated[str, Field(description='As the site names it; "" if there is only one.')]
    base_url: Annotated[str, Field(description="URL below which the edition's pages are.")]
    files: int
    chunks: int

    @classmethod
    def of(cls, manifest: BookManifest) -> EditionBody:
        return cls(
            version=manifest.version,
            locale=manifest.locale,
            base_url=manifest.base_url,
            files=manifest.files,
            chunks=manifest.chunks,
        )


class BookBody(Body):
    id: str
    title: str
    version: Annotated[str, Field(description="Hash of the content of the book's files.")]
    language: str
    site: str
    base_url: str
    files: int
    chunks: int
    tokens: int
    strategy: str
    model: Annotated[str, Field(description="The embedding model of the book's index.")]
    dimension: int
    created_at: Annotated[str, Field(description="Time of the ingest: ISO 8601, UTC.")]
    state: Annotated[
        Literal["ready", "previous"],
        Field(description="previous: the index is damaged; the previous one answers."),
    ] = "ready"
    editions: Annotated[
        list[EditionBody],
        Field(
            default_factory=list,
            description="If the book has several versions or locales; the default one first.",
        ),
    ]

    @classmethod
    def of(
        cls,
        manifest: BookManifest,
        damaged: Container[str] = (),
        others: Sequence[BookManifest] = (),
    ) -> BookBody:
        return cls(
            id=manifest.book,
            title=manifest.title,
            version=manifest.book_version,
            language=manifest.language,
            site=manifest.site,
            base_url=manifest.base_url,
            files=manifest.files,
            chunks=manifest.chunks,
            tokens=manifest.tokens,
            strategy=manifest.strategy,
            model=manifest.model,
            dimension=manifest.dimension,
            created_at=manifest.created_at,
            state="previous" if manifest.book in damaged else "ready",
            editions=[EditionBody.of(one) for one in (manifest, *others) if others],
        )


class BooksBody(Body):
    books: list[BookBody]
    quarantined: Annotated[list[str], Field(description=QUARANTINED)]
    feedback: Annotated[
        bool,
        Field(description="Whether `POST /v1/feedback` is accepted: answers have an `answer_id`."),
    ] = False

    @classmethod
    def of(
        cls,
        books: Iterable[BookManifest],
        damaged: Mapping[BookId, Damage],
        *,
        feedback: bool = False,
    ) -> BooksBody:
        others: dict[BookId, list[BookManifest]] = {}
        for one in (manifests := list(books)):
            if one.book != one.book.name:
                others.setdefault(one.book.name, []).append(one)
        return cls(
            feedback=feedback,
            books=[
                BookBody.of(one, damaged, others.get(one.book, ()))
                for one in manifests
                if one.book == one.book.name
            ],
            quarantined=[book for book, damage in damaged.items() if not damage.answers],
        )
