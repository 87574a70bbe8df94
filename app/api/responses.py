"""Response bodies of the API: the domain's own shapes, or pydantic models built from them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_jsonable_python

from app.domain.book_id import BookId
from app.domain.characters import printable
from app.domain.document import BlockKind
from app.domain.glossary import GlossaryTerm
from app.domain.indexed_book import BookManifest
from app.domain.retrieval.query import Hit

if TYPE_CHECKING:
    from app.bootstrap.application import Application

ParagraphId = Annotated[str, Field(examples=["p-8v4x1q0mhz"])]


def as_json(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value's JSON, with texts that people can look at, whatever a book, reader or model
    wrote.
    """
    return _printable(to_jsonable_python(value))


def _printable(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: _printable(one) for name, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list) else value


def json_text(value: object) -> str:
    return json.dumps(as_json(value), ensure_ascii=False, separators=(",", ":"))


class Body(BaseModel):
    """The docstrings below its fields are their descriptions."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class HitBody(Body):
    chunk_id: str
    book: str
    score: float
    """Fusion or reranking score, 0 to 1."""
    dense_score: float | None
    sparse_score: float | None
    text: str
    """The chunk's paragraphs as a reader sees them."""
    url: str
    """Opens the book's site at the chunk's first paragraph."""
    chapter: str
    section: str
    heading_path: list[str]
    content_type: BlockKind
    paragraph_ids: list[ParagraphId]
    token_count: int
    file: str
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, hit: Hit) -> HitBody:
        chunk = hit.chunk
        return cls(
            **{name: getattr(chunk, name) for name in cls.model_fields if hasattr(chunk, name)},
            score=hit.score,
            dense_score=hit.dense_score,
            sparse_score=hit.sparse_score,
            text=chunk.text_content,
            url=chunk.deep_link_url,
        )


class SearchBody(Body):
    hits: list[HitBody]
    degraded: list[str]


class GlossaryBody(Body):
    book: str
    terms: list[GlossaryTerm]
    """In the order in which they first appear on the page."""


class ExerciseBody(Body):
    paragraph_id: ParagraphId
    text: str
    """Markdown of the exercise, without its solution."""


class SuggestionsBody(Body):
    book: str
    questions: list[str]
    """Starter questions that the page answers."""
    exercises: list[ExerciseBody]
    """The page's exercises, in reading order."""


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
