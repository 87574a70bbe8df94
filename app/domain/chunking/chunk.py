"""The chunk and its passages, which every chunking strategy returns."""

from __future__ import annotations

from itertools import dropwhile

from app.domain.book_id import BookId
from app.domain.document import BlockKind, Span
from app.domain.fast_dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, or a part of a long one, inside a chunk.

    A whole block is one passage. If a block is split, each run of its parts (sentences, rows,
    items) in the chunk is one passage. With a strategy that cuts at such parts, passages of two
    chunks are equal, nested or disjoint. A strategy that cuts anywhere sets `verbatim=True`: the
    text is `source[start:end]` itself.
    """

    paragraph_id: str
    kind: BlockKind
    text: str
    start: int
    end: int
    url: str
    """Deep link to the paragraph: permalink, anchor, text fragment."""
    heading_path: tuple[str, ...]
    terms: tuple[str, ...] = ()
    verbatim: bool = False
    language: str = ""
    """The programming language of a code block."""


@fast_dataclass(frozen=True, slots=True)
class Chunk:
    r"""The unit of retrieval.

    `text_content` joins `source[start:end]` of each of `spans`, in order, with "\n\n". It also
    holds context: repeated headers, lead-ins and included text. Each pair of `context` is the
    [start, end) range of such text in `text_content`.
    """

    chunk_id: str
    """UUIDv5 over book, strategy, settings, file and content."""
    book: BookId
    book_version: str
    chunk_index: int
    """Position in its document, from 0; (file, chunk_index) is unique in a book."""
    file: str
    position: int
    """The document's position in the book's reading order, from 0."""
    text_content: str
    token_count: int
    """Tokens of `text_content`, by tiktoken cl100k_base."""
    overlap_start: int
    """Tokens at the start that repeat the end of the previous chunk."""
    overlap_end: int
    """Tokens at the end that the next chunk repeats; equals its `overlap_start`."""
    paragraph_ids: tuple[str, ...]
    """Paragraphs that are only overlap come last; headings are left out."""
    content_type: str
    """The kind of most of the chunk's text: a `BlockKind` value."""
    chapter: str
    section: str
    """The innermost heading above the chunk, or the page's title."""
    heading_path: tuple[str, ...]
    spans: tuple[Span, ...]
    deep_link_url: str
    language: str
    passages: tuple[Passage, ...]
    context: tuple[Span, ...] = ()
    pooled_within: str = ""
    """Late chunking: hash of the document's texts, which the vector depends on. "" if the vector
    is that of `embedding_text` alone."""
    chapter_number: int = 0
    """The number that the site shows for the chapter; 0 if none."""

    @property
    def paragraph_id(self) -> str:
        """The first paragraph that is not overlap: the target of the deep link."""
        return self.paragraph_ids[0] if self.paragraph_ids else ""

    @property
    def own_passages(self) -> tuple[Passage, ...]:
        """The passages without overlap that belongs to another section.

        Overlap comes first, is of one section, and holds no heading.
        """
        if not self.overlap_start:
            return self.passages
        first = next((p for p in self.passages if p.paragraph_id == self.paragraph_id), None)
        path = self.passages[0].heading_path
        if first is None or first.heading_path == path:
            return self.passages
        return tuple(dropwhile(lambda one: one.heading_path == path, self.passages))

    @property
    def char_start(self) -> int:
        return self.spans[0][0]

    @property
    def char_end(self) -> int:
        return self.spans[-1][1]

    @property
    def reader_text(self) -> str:
        """The passages as a reader sees them."""
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def embedding_text(self) -> str:
        """The text that is embedded: the heading path as one line, then the own passages.

        Overlap from another section is left out; that section has a chunk with the text.
        """
        path = " > ".join(self.heading_path)
        text = "\n\n".join(passage.text for passage in self.own_passages)
        return f"{path}\n\n{text}" if path else text

    @property
    def vector_key(self) -> str:
        """Everything but the model that determines the chunk's vector."""
        if not self.pooled_within:
            return self.embedding_text
        return f"\x1fwithin {self.pooled_within}: {self.chunk_index}"

    @property
    def lexical_text(self) -> str:
        """The text that BM25 indexes: `embedding_text` and each term defined here once more.

        The repetition ranks a chunk that defines a term above chunks that use it.
        """
        terms = [term for passage in self.own_passages for term in passage.terms]
        return "\n".join([self.embedding_text, *terms])
