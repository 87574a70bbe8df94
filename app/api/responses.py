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

from app.domain.answer import Answer, AnswerMode, Confidence
from app.domain.document import BlockKind
from app.domain.glossary import TermOnPage
from app.domain.printable import printable
from app.domain.retrieval.query import Hit

ParagraphId = Annotated[str, Field(examples=["p-8v4x1q0mhz"])]


class Body(BaseModel):
    """A body whose texts people can look at, whatever a book, reader or model wrote."""

    model_config = ConfigDict(from_attributes=True)

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

    index: Annotated[int, Field(description="The number shown to the reader, from 1.")]
    start: int
    end: int
    paragraph_id: ParagraphId
    url: Annotated[str, Field(description="Opens the book's site at this paragraph.")]
    permalink: Permalink
    title: Annotated[str, Field(description="Title of the paragraph's section.")]
    heading_path: list[str]
    quote: Annotated[str, Field(description="The text of the paragraph that supports the claim.")]
    prefix: Annotated[str, Field(description="The text of the paragraph before the quote.")]
    suffix: Annotated[str, Field(description="The text of the paragraph after the quote.")]
    book: str
    file: Annotated[str, Field(description="Source file, relative to the book's folder.")]
    spans: Annotated[
        list[tuple[int, int]],
        Field(description="The paragraph's half-open code-point spans in `file`."),
    ]


class FigureBody(Body):
    """An image of the book, at an address that was found when the book was read."""

    url: Annotated[
        str, Field(description="The image: absolute, or a path from the root of the book's host.")
    ]
    alt: Annotated[str, Field(description="The text that stands for the image.")]
    caption: Annotated[str, Field(description='Its caption in the book; "" if it has none.')]
    paragraph_id: ParagraphId
    page_url: Annotated[str, Field(description="Opens the book's site at the figure.")]


class PassageBody(Body):
    """Adjoining paragraphs of the book, shown whole, with the sentences that answer."""

    paragraph_ids: list[ParagraphId]
    text: Annotated[str, Field(description="Markdown: the paragraphs, an empty line between them.")]
    heading_path: list[str]
    url: Annotated[
        str, Field(description="Opens the book's site at the paragraph with the first mark.")
    ]
    permalink: Permalink
    marks: Annotated[
        list[tuple[int, int]],
        Field(description="The sentences that answer: half-open code-point spans of `text`."),
    ]
    figures: Annotated[
        list[FigureBody],
        Field(description="The figures of these paragraphs and those that they refer to."),
    ]


class SourceBody(Body):
    """A paragraph used for the answer or, in a refusal, a section near the question."""

    paragraph_id: ParagraphId
    url: str
    title: str
    heading_path: list[str]
    score: float


class UsageBody(Body):
    """Tokens billed by the provider; 0 offline."""

    input_tokens: int
    output_tokens: int


class StatementBody(Body):
    """A sentence of the answer; `supported` if it contains a verified citation."""

    start: int
    end: int
    supported: bool


class AnswerBody(Body):
    answer: Annotated[str, Field(examples=["A document is the unit that the system returns."])]
    mode: Annotated[
        AnswerMode,
        Field(
            description="generated: written by a language model from the book's paragraphs; "
            "extractive: the book's own sentences; refused: the book does not say; small_talk: a "
            "greeting or thanks, answered without a search; clarification: the chapter or exercise "
            "asked for is not in the book, and the answer names those that are."
        ),
    ]
    confidence: Annotated[
        Confidence,
        Field(
            description="uncertain: the book may not answer this, `passages` come nearest; "
            "not_in_book: outside the book's domain, `sources` are the nearest sections."
        ),
    ]
    refused: Annotated[bool, Field(description="`confidence` is not_in_book.")]
    citations: list[CitationBody]
    passages: Annotated[
        list[PassageBody],
        Field(
            description="In an extractive answer: at most five, best first; `answer` is their "
            "text, below a notice if uncertain. In a chapter's summary or a quiz: its parts, "
            "without marks. Empty in a generated answer and in a refusal."
        ),
    ]
    figures: Annotated[
        list[FigureBody],
        Field(
            description="At most three: the one that was asked for, then those of the passages or "
            "of the cited paragraphs."
        ),
    ]
    sources: list[SourceBody]
    degraded: Annotated[
        list[str],
        Field(
            description="Steps that failed and were skipped or replaced: rewrite, embedding, "
            "rerank, generator (of generated text: it ends where the provider failed). truncated: "
            "the model reached its maximum length. unsupported: generated text, or its end, was "
            "not shown. budget: the owner's spending limit is reached, so no provider was called."
        ),
    ]
    usage: UsageBody
    statements: list[StatementBody]
    citation_precision: Annotated[
        float, Field(description="Share of the generator's citations that were verified.")
    ]
    coverage: Annotated[
        float, Field(description="Share of the statements that a citation supports.")
    ]
    exercise: Annotated[
        str, Field(description="Paragraph id of the book's exercise that the question repeats.")
    ]
    follow_ups: Annotated[
        list[str],
        Field(description="Up to three further questions that the book can answer."),
    ]
    searched_for: Annotated[
        str, Field(description='The question with corrected spelling; "" if nothing was corrected.')
    ]
    answer_id: Annotated[
        str, Field(description='For `POST /v1/feedback`; "" if the server accepts no feedback.')
    ] = ""


class HitBody(Body):
    chunk_id: str
    book: str
    score: Annotated[float, Field(description="Fusion or reranking score, 0 to 1.")]
    dense_score: float | None
    sparse_score: float | None
    text: Annotated[str, Field(description="The chunk's paragraphs as a reader sees them.")]
    url: Annotated[str, Field(description="Opens the book's site at the chunk's first paragraph.")]
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
    url: Annotated[str, Field(description="Opens the book's site at the glossary's entry.")]
    forms: Annotated[
        list[str],
        Field(description="The forms of the term that occur in the page's text."),
    ]

    @classmethod
    def of(cls, found: TermOnPage) -> TermBody:
        return cls(**asdict(found.entry), forms=list(found.forms))


class GlossaryBody(Body):
    book: str
    terms: Annotated[
        list[TermBody], Field(description="In the order in which they first appear on the page.")
    ]


class ExerciseBody(Body):
    paragraph_id: ParagraphId
    text: Annotated[str, Field(description="Markdown of the exercise, without its solution.")]


class SuggestionsBody(Body):
    book: str
    questions: Annotated[list[str], Field(description="Starter questions that the page answers.")]
    exercises: Annotated[
        list[ExerciseBody], Field(description="The page's exercises, in reading order.")
    ]


def answer_body(answer: Answer, public_url: str) -> AnswerBody:
    """Return the body; its permalinks are URLs below `public_url`, or paths if that is empty."""
    return AnswerBody.model_validate(answer, context={"public_url": public_url})


def answer_json(answer: Answer, public_url: str) -> dict[str, JsonValue]:
    """Return the answer exactly as `POST /v1/chat` does."""
    return answer_body(answer, public_url).model_dump(mode="json")


def hit_json(hit: Hit) -> dict[str, JsonValue]:
    """Return the hit exactly as `POST /v1/search` does."""
    return HitBody.of(hit).model_dump(mode="json")
