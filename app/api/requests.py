"""Request bodies of the API as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import from_json

from app.api.responses import Body
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import MAX_QUESTION_CHARS, NEEDS_PAGE, Scope, Selection
from app.domain.book_id import PATTERN, BookId
from app.domain.logged_answer import MAX_REASON_CHARS, Mark, Rating
from app.domain.retrieval.query import Turn

MAX_TURNS = 40
MAX_HISTORY_CHARS = 32_000
MAX_SELECTION_CHARS = 4_000
MAX_TEXT_CHARS = 2**18

Question = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    Field(
        json_schema_extra={"minLength": 1},
        description="The reader's question, in any language. "
        f"At most {MAX_QUESTION_CHARS:,} characters.",
        examples=["What is an inverted index?"],
    ),
]


BookName = Annotated[
    BookId,
    Field(
        json_schema_extra={"pattern": f"^{PATTERN}$"},
        description="The id of the indexed book to ask; without it, all books are asked.",
        examples=["small-book-of-search"],
    ),
]
PageUrl = Annotated[
    str,
    Field(
        max_length=2_000,
        examples=["/pages/small-book-of-search/03-inverted-index/01-building.html"],
    ),
]


class RequestBody(Body):
    # An unknown field, such as a misspelled one, is an error; with any limit on texts, half a
    # character (a lone surrogate) is one, too: also in the dataclasses of its fields.
    model_config = ConfigDict(extra="forbid", str_max_length=MAX_TEXT_CHARS)


class PartRequest(RequestBody):
    """What a button asks of a chapter or page, whatever the words of `question`."""

    kind: Literal["summary", "quiz"]
    chapter: int | Literal["this"] | None = None
    """The number of a chapter, or `this` for that of `page_url`. Without it, the page of `page_url`
    itself."""


class ReadingContext(Body):
    """Where the reader is, and what they want of it: fields of every protocol's question."""

    page_url: PageUrl = ""
    """The page that the reader is on, as URL or path. Its hits count double unless `scope` is set,
    which refers to it, and its version and locale of the book answer."""
    scope: Scope | None = None
    """The part of the book to answer from: the `page`, its `chapter`, the `book`, or the book up
    to the end of this chapter (`so_far`). All but `book` need `page_url`."""
    selection: Selection | None = None
    """Text that the reader has selected on a page; at most 4,000 characters."""
    solutions: Solutions | None = None
    """How to answer a question that is an exercise of the book: `hide` gives the paragraphs to read
    first, `hint` also sentences of them, `show` the solution. Default: the server's
    `RAG_SOLUTIONS`."""


class ChatRequest(ReadingContext, RequestBody):
    question: Question
    book: BookName | None = None
    request: PartRequest | None = None
    history: Annotated[tuple[Turn, ...], Field(max_length=MAX_TURNS)] = ()
    """The conversation so far, oldest turn first; the server keeps none. At most 32,000 characters
    in all."""
    stream: bool = False
    """Answer as server-sent events, as with `Accept: text/event-stream`."""

    @model_validator(mode="after")
    def _check_together(self) -> ChatRequest:
        message = ""
        if self.scope in NEEDS_PAGE and not self.page_url:
            message = f"scope {self.scope} needs the address of an indexed page in page_url"
        elif sum(len(turn.content) for turn in self.history) > MAX_HISTORY_CHARS:
            message = f"the history has over {MAX_HISTORY_CHARS:,} characters: send fewer turns"
        elif self.selection and not 0 < len(self.selection.text) <= MAX_SELECTION_CHARS:
            message = f"the selection's text must have 1 to {MAX_SELECTION_CHARS:,} characters"
        if message:
            raise ValueError(message)
        return self


class SearchRequest(RequestBody):
    question: Question
    book: BookName | None = None
    page_url: PageUrl = ""
    """The page that the reader is on, as URL or path: its version and locale of the book are
    searched."""
    k: Annotated[int, Field(ge=1, le=50)] = 5
    """How many chunks to return."""


class FeedbackRequest(RequestBody):
    answer_id: Annotated[str, Field(min_length=1, max_length=64, examples=["1f0c9d3e5b7a2c44"])]
    """From the answer."""
    rating: Rating | None = None
    """none withdraws an earlier rating. The last rating counts."""
    reason: Annotated[str | None, StringConstraints(max_length=MAX_REASON_CHARS)] = None
    """The reader's words; e-mail addresses and phone numbers are masked."""
    citation: Mark | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_beacon(cls, body: object) -> object:
        """Parse a body that was not sent as JSON, such as that of `navigator.sendBeacon`."""
        return from_json(body) if isinstance(body, bytes) else body

    @model_validator(mode="after")
    def _require_content(self) -> FeedbackRequest:
        if self.rating is None and self.reason is None and self.citation is None:
            raise ValueError("feedback needs a rating, a reason or a citation")
        return self
