"""What every chunking strategy returns."""

from __future__ import annotations

from app.domain.book_id import BookId
from app.domain.document import BlockKind, Span
from app.domain.fast_dataclass import fast_dataclass


@fast_dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph (or a piece of an over-long one) as a chunk holds it.

    A block that is whole in the chunk is one passage. Of a block that is split, each part that is
    in the chunk (sentence, row, item) is a passage of its own, so passages of two chunks either
    are equal, nest or are disjoint when the strategy cuts at such joints. A strategy that cuts
    anywhere gives passages with `verbatim=True`, whose text is `source[start:end]` itself.
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

    `text_content` is `source[start:end]` for each of `spans` in order, with what stands between
    joined as "\n\n" where spans do not touch, plus marked context: each pair of `context` is a
    [start, end) range of `text_content` that is repeated or pulled in, not source at this place.
    """

    chunk_id: str
    """UUIDv5 over book, strategy, settings, file and content."""
    book: BookId
    book_version: str
    chunk_index: int
    """Place in its document, from 0; (file, chunk_index) is unique in a book."""
    file: str
    position: int
    """The document's place in the book's reading order."""
    text_content: str
    token_count: int
    """Of `text_content`, by tiktoken cl100k_base."""
    overlap_start: int
    """Tokens at the start that the previous chunk ends with."""
    overlap_end: int
    """Tokens at the end that the next chunk starts with; equals its `overlap_start`."""
    paragraph_ids: tuple[str, ...]
    """Those that are not merely overlap first; headings are not among them."""
    content_type: str
    """The kind that most of the chunk's text has: a `BlockKind` value."""
    chapter: str
    section: str
    """The heading that the chunk stands under, or the page's title."""
    heading_path: tuple[str, ...]
    spans: tuple[Span, ...]
    deep_link_url: str
    language: str
    passages: tuple[Passage, ...]
    context: tuple[Span, ...] = ()
    pooled_within: str = ""
    """Late chunking: hash of the texts of its document, within which its vector is made; "" for a
    vector of `embedding_text` alone."""

    @property
    def paragraph_id(self) -> str:
        """The first paragraph that is not overlap: where the chunk's deep link goes."""
        return self.paragraph_ids[0] if self.paragraph_ids else ""

    @property
    def char_start(self) -> int:
        return self.spans[0][0]

    @property
    def char_end(self) -> int:
        return self.spans[-1][1]

    @property
    def reader_text(self) -> str:
        """The passages as a reader sees them: what is embedded, below the heading path."""
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def embedding_text(self) -> str:
        """The exact text that is embedded: heading path as a line of context, then the passages."""
        path = " > ".join(self.heading_path)
        return f"{path}\n\n{self.reader_text}" if path else self.reader_text

    @property
    def vector_key(self) -> str:
        """All that decides the chunk's vector, beside the model."""
        if not self.pooled_within:
            return self.embedding_text
        return f"\x1fwithin {self.pooled_within}: {self.chunk_index}"

    @property
    def lexical_text(self) -> str:
        """What BM25 indexes: the embedded text, and once more each term the author defines here.

        So the chunk that defines a term stands above those that only use it.
        """
        terms = [term for passage in self.passages for term in passage.terms]
        return "\n".join([self.embedding_text, *terms])
