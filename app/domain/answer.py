"""An answer and its citations, as `POST /v1/chat` and `ask --json` give them.

The docstrings of the fields are their descriptions in the API's contract.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.document import Span
from app.domain.urls import permalink


class AnswerMode(StrEnum):
    GENERATED = "generated"
    EXTRACTIVE = "extractive"
    REFUSED = "refused"
    SMALL_TALK = "small_talk"
    CLARIFICATION = "clarification"


class Confidence(StrEnum):
    """Whether the book answers the question."""

    ANSWERED = "answered"
    UNCERTAIN = "uncertain"
    NOT_IN_BOOK = "not_in_book"


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim of the answer and the paragraph that supports it.

    `answer[start:end]` is the claim, counted in Unicode code points (in JavaScript:
    `Array.from(answer).slice(start, end)`).
    """

    index: int
    """Number shown to the reader, from 1, in order of each paragraph's first use."""
    start: int
    end: int
    paragraph_id: str
    url: str
    """Opens the book's site at this paragraph."""
    title: str
    """Title of the paragraph's section."""
    heading_path: tuple[str, ...]
    quote: str
    """The text of the paragraph that supports the claim."""
    book: BookId
    file: str
    """Source file, relative to the book's folder."""
    spans: tuple[Span, ...]
    """The paragraph's half-open code-point spans in `file`."""
    prefix: str = ""
    """Up to 32 characters of the paragraph before the quote, as in a W3C TextQuoteSelector."""
    suffix: str = ""
    """Up to 32 characters of the paragraph after the quote."""
    permalink: str = field(init=False, default="")
    """Path of `GET /cite/...` of this server, which redirects to the paragraph's current URL."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "permalink", permalink(self.paragraph_id, self.book))


@dataclass(frozen=True, slots=True)
class AnswerFigure:
    """An image of the book that an answer shows."""

    url: str
    """Address of the image: absolute, or a path from the root of the book's host."""
    alt: str
    caption: str
    paragraph_id: str
    page_url: str
    """Deep link to the figure on its page."""

    @property
    def title(self) -> str:
        """What stands for the image where it is not shown."""
        return self.caption or self.alt


@dataclass(frozen=True, slots=True)
class AnswerPassage:
    """Adjacent paragraphs of the book, shown whole, with the sentences that answer."""

    paragraph_ids: tuple[str, ...]
    text: str
    """Markdown: the paragraphs, separated by empty lines; code is fenced."""
    heading_path: tuple[str, ...]
    url: str
    """Opens the book's site at the paragraph with the first mark."""
    paragraph_id: str
    """The paragraph that `url` and `permalink` lead to."""
    book: BookId
    marks: tuple[Span, ...] = ()
    """Half-open code-point spans of `text`: the sentences that answer, in order."""
    figures: tuple[AnswerFigure, ...] = ()
    """The figures in these paragraphs and those that they refer to."""
    permalink: str = field(init=False, default="")
    """Path of `GET /cite/...` of this server, which redirects to the paragraph's current URL."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "permalink", permalink(self.paragraph_id, self.book))


@dataclass(frozen=True, slots=True)
class Source:
    """A paragraph of the context; in a refusal, one of the nearest sections."""

    paragraph_id: str
    url: str
    title: str
    heading_path: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed by the provider; 0 offline."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the answer; `supported` if the paragraphs that it cites support it."""

    start: int
    end: int
    supported: bool


TRUNCATED = "truncated"
"""Entry of `degraded`: the model reached its maximum of tokens, or ours of characters."""


@dataclass(frozen=True, slots=True)
class Answer:
    answer: str
    """Text shown to the reader. A hint starts with a notice; so does an uncertain extractive
    answer."""
    mode: AnswerMode
    """generated: written by a language model from the book's paragraphs; extractive: the book's own
    sentences; refused: the book does not say; small_talk: a greeting or thanks, answered without a
    search; clarification: it is not clear which chapter, exercise or book is meant, and the answer
    names those that there are."""
    confidence: Confidence = Confidence.ANSWERED
    """uncertain: the book may not answer this, `passages` come nearest; not_in_book: outside the
    book's domain, `sources` are the nearest sections."""
    citations: tuple[Citation, ...] = ()
    passages: tuple[AnswerPassage, ...] = ()
    """In an extractive answer: at most five, best first; `answer` is their text, below a notice if
    uncertain. In a chapter's summary or a quiz: its parts, without marks. Empty in a generated
    answer and in a refusal."""
    figures: tuple[AnswerFigure, ...] = ()
    """At most three: the one that was asked for, then those of the passages or of the cited
    paragraphs."""
    sources: tuple[Source, ...] = ()
    """The paragraphs used, best first; in a refusal, the nearest sections."""
    degraded: tuple[str, ...] = ()
    """Steps that failed and were skipped or replaced: rewrite, embedding, rerank, generator (of
    generated text: it ends where the provider failed). truncated: the model reached its maximum
    length. unsupported: generated text, or its end, was not shown. budget: the owner's spending
    limit is reached, so no provider was called. book:ID: the book could not be read. generation:ID:
    its previous generation was searched."""
    usage: Usage = field(default_factory=Usage)
    statements: tuple[Statement, ...] = ()
    """Sentences that state something about the book, in order; none in a refusal."""
    exercise: str = ""
    """Paragraph id of the book's exercise that the question repeats; "" if none."""
    follow_ups: tuple[str, ...] = ()
    """Up to three further questions that the book can answer."""
    searched_for: str = ""
    """The question with corrected spelling; "" if nothing was corrected."""
    answer_id: str = ""
    """For `POST /v1/feedback`; "" if the server accepts no feedback."""
    refused: bool = field(init=False, default=False)
    """`confidence` is not_in_book."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "refused", self.confidence is Confidence.NOT_IN_BOOK)

    @property
    def truncated(self) -> bool:
        return TRUNCATED in self.degraded


# Events of a streamed answer, in this order: Started, then TextDelta and CitationFound
# interleaved, then Finished. Errors are raised, not yielded.


@dataclass(frozen=True, slots=True)
class Started:
    mode: AnswerMode
    sources: tuple[Source, ...]
    confidence: Confidence = Confidence.ANSWERED


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CitationFound:
    citation: Citation


@dataclass(frozen=True, slots=True)
class Finished:
    answer: Answer


AnswerEvent: TypeAlias = Started | TextDelta | CitationFound | Finished
