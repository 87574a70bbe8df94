"""The chunk and its passages, which every chunking strategy returns."""

from dataclasses import dataclass
from itertools import dropwhile

from app.domain.book_id import BookId
from app.domain.document import BlockKind, Figure, Span


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, or a contiguous part of a long one, inside a chunk."""

    paragraph_id: str
    kind: BlockKind
    text: str
    """Markdown. Without the `lead` characters at its start, it is the paragraph's text from
    `offset`."""
    start: int
    end: int
    """Source of the text. In Markdown that of a part is approximate, as mark-up is not counted."""
    url: str
    """Deep link to the paragraph: permalink, anchor, text fragment."""
    heading_path: tuple[str, ...]
    terms: tuple[str, ...] = ()
    language: str = ""
    """The programming language of a code block."""
    offset: int = 0
    """Where the text begins in the paragraph's text."""
    lead: int = 0
    """Characters repeated from earlier: a table's header."""
    figure: Figure | None = None
    """The paragraph's image."""

    @property
    def own_text(self) -> str:
        """The part of the paragraph's text: without what is repeated."""
        return self.text[self.lead :]

    @property
    def headed_text(self) -> str:
        """The text below its heading path, since only a heading may name its subject."""
        return "\n".join(filter(None, (" > ".join(self.heading_path), self.text)))

    @property
    def stop(self) -> int:
        """Where the text ends in the paragraph's text."""
        return self.offset + len(self.text) - self.lead


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of retrieval."""

    chunk_id: str
    """UUIDv5 over book, strategy, settings, file and content."""
    book: BookId
    book_version: str
    chunk_index: int
    """Position in its document, from 0; (file, chunk_index) is unique in a book."""
    file: str
    position: int
    """The document's position in the book's reading order, from 0."""
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
    """The source of the passages and their headings, ascending and disjoint."""
    deep_link_url: str
    language: str
    passages: tuple[Passage, ...]
    pooled_within: str = ""
    """Late chunking: hash of the document's texts, which the vector depends on. "" if the vector
    is that of `embedding_text` alone."""
    chapter_number: int = 0
    """The number that the site shows for the chapter; 0 if none."""

    @property
    def text_content(self) -> str:
        """The texts of the passages; headings of the path only if the chunk has no other text."""
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def paragraph_id(self) -> str:
        """The first paragraph that is not overlap: the target of the deep link."""
        return self.paragraph_ids[0] if self.paragraph_ids else ""

    @property
    def own_passages(self) -> tuple[Passage, ...]:
        """The passages without overlap that belongs to another section.

        Overlap comes first, is of one section, and holds no heading.
        """
        path = self.passages[0].heading_path
        own = (p.heading_path for p in self.passages if p.paragraph_id == self.paragraph_id)
        if not self.overlap_start or next(own, path) == path:
            return self.passages
        return tuple(dropwhile(lambda one: one.heading_path == path, self.passages))

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
