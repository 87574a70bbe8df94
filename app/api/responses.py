"""Response bodies of the API as pydantic models, built from the types of the domain."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
)

from app.domain.answer import (
    Answer,
    AnswerFigure,
    AnswerMode,
    Confidence,
    Source,
    Statement,
    Usage,
)
from app.domain.characters import printable
from app.domain.document import BlockKind
from app.domain.glossary import TermOnPage
from app.domain.retrieval.query import Hit

ParagraphId = Annotated[str, Field(examples=["p-8v4x1q0mhz"])]


class Body(BaseModel):
    """A body whose texts people can look at, whatever a book, reader or model wrote."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)

    @model_serializer(mode="wrap")
    def _printable(self, fields: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a type would replace the fields' schema
        return printable_json(fields(self))


def printable_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Make every text of a JSON value printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {name: printable_json(one) for name, one in value.items()}
    return [printable_json(one) for one in value] if isinstance(value, list | tuple) else value


def _public(path: str, info: ValidationInfo) -> str:
    """Prefix the path with the `public_url` of the validation context, if there is one."""
    public_url: str = (info.context or {}).get("public_url", "")
    return public_url + path


_PERMALINK = (
    "`GET /cite/{paragraph_id}` of this server: redirects to the paragraph's current page. A path, "
    "or an absolute URL if `RAG_PUBLIC_URL` is set."
)
Permalink = Annotated[
    str,
    AfterValidator(_public),
    Field(description=_PERMALINK, examples=["/cite/p-8v4x1q0mhz?book=small-book-of-search"]),
]


class CitationBody(Body):
    """A claim of the answer and the paragraph that supports it.

    `answer[start:end]` is the claim, counted in Unicode code points (in JavaScript:
    `Array.from(answer).slice(start, end)`).
    """

    index: int
    """The number shown to the reader, from 1."""
    start: int
    end: int
    paragraph_id: ParagraphId
    url: str
    """Opens the book's site at this paragraph."""
    permalink: Permalink
    title: str
    """Title of the paragraph's section."""
    heading_path: list[str]
    quote: str
    """The text of the paragraph that supports the claim."""
    prefix: str
    """The text of the paragraph before the quote."""
    suffix: str
    """The text of the paragraph after the quote."""
    book: str
    file: str
    """Source file, relative to the book's folder."""
    spans: list[tuple[int, int]]
    """The paragraph's half-open code-point spans in `file`."""


class PassageBody(Body):
    """Adjoining paragraphs of the book, shown whole, with the sentences that answer."""

    paragraph_ids: list[ParagraphId]
    text: str
    """Markdown: the paragraphs, an empty line between them."""
    heading_path: list[str]
    url: str
    """Opens the book's site at the paragraph with the first mark."""
    permalink: Permalink
    marks: list[tuple[int, int]]
    """The sentences that answer: half-open code-point spans of `text`."""
    figures: list[AnswerFigure]
    """The figures of these paragraphs and those that they refer to."""


class AnswerBody(Body):
    answer: Annotated[str, Field(examples=["A document is the unit that the system returns."])]
    mode: AnswerMode
    """generated: written by a language model from the book's paragraphs; extractive: the book's own
    sentences; refused: the book does not say; small_talk: a greeting or thanks, answered without a
    search; clarification: the chapter or exercise asked for is not in the book, and the answer
    names those that are."""
    confidence: Confidence
    """uncertain: the book may not answer this, `passages` come nearest; not_in_book: outside the
    book's domain, `sources` are the nearest sections."""
    refused: bool
    """`confidence` is not_in_book."""
    citations: list[CitationBody]
    passages: list[PassageBody]
    """In an extractive answer: at most five, best first; `answer` is their text, below a notice if
    uncertain. In a chapter's summary or a quiz: its parts, without marks. Empty in a generated
    answer and in a refusal."""
    figures: list[AnswerFigure]
    """At most three: the one that was asked for, then those of the passages or of the cited
    paragraphs."""
    sources: list[Source]
    """The paragraphs used, best first; in a refusal, the nearest sections."""
    degraded: list[str]
    """Steps that failed and were skipped or replaced: rewrite, embedding, rerank, generator (of
    generated text: it ends where the provider failed). truncated: the model reached its maximum
    length. unsupported: generated text, or its end, was not shown. budget: the owner's spending
    limit is reached, so no provider was called."""
    usage: Usage
    statements: list[Statement]
    exercise: str
    """Paragraph id of the book's exercise that the question repeats."""
    follow_ups: list[str]
    """Up to three further questions that the book can answer."""
    searched_for: str
    """The question with corrected spelling; "" if nothing was corrected."""
    answer_id: str = ""
    """For `POST /v1/feedback`; "" if the server accepts no feedback."""


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
            chunk_id=chunk.chunk_id,
            book=chunk.book,
            score=hit.score,
            dense_score=hit.dense_score,
            sparse_score=hit.sparse_score,
            text=chunk.text_content,
            url=chunk.deep_link_url,
            chapter=chunk.chapter,
            section=chunk.section,
            heading_path=list(chunk.heading_path),
            content_type=BlockKind(chunk.content_type),
            paragraph_ids=list(chunk.paragraph_ids),
            token_count=chunk.token_count,
            file=chunk.file,
            spans=list(chunk.spans),
        )


class SearchBody(Body):
    hits: list[HitBody]
    degraded: list[str]


class TermBody(Body):
    """A term of the glossary that occurs on the page."""

    term: Annotated[str, Field(examples=["posting"])]
    definition: str
    paragraph_id: ParagraphId
    url: str
    """Opens the book's site at the glossary's entry."""
    forms: list[str]
    """The forms of the term that occur in the page's text."""

    @classmethod
    def of(cls, found: TermOnPage) -> TermBody:
        return cls(**asdict(found.entry), forms=list(found.forms))


class GlossaryBody(Body):
    book: str
    terms: list[TermBody]
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


def answer_body(answer: Answer, public_url: str) -> AnswerBody:
    """Return the body; its permalinks are URLs below `public_url`, or paths if that is empty."""
    return AnswerBody.model_validate(answer, context={"public_url": public_url})


def answer_json(answer: Answer, public_url: str) -> dict[str, JsonValue]:
    """Return the answer exactly as `POST /v1/chat` does."""
    return answer_body(answer, public_url).model_dump(mode="json")


def hit_json(hit: Hit) -> dict[str, JsonValue]:
    """Return the hit exactly as `POST /v1/search` does."""
    return HitBody.of(hit).model_dump(mode="json")
