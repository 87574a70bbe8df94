"""A book as the reader sees it: documents made of typed blocks with exact source spans.

All offsets are code points into the file's text, decoded as UTF-8 with line ends as they are
(a byte order mark counts as one code point). Half-open: `source[start:end]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from app.domain.book_id import BookId
from app.domain.fast_dataclass import fast_dataclass
from app.domain.long_text import Text

Span: TypeAlias = tuple[int, int]

_AT_ONCE = 1 << 20
"""Characters that are counted at once."""

RUN_BOUNDARY = "\x1f"
"""Stands between two runs of a block's text (ASCII unit separator)."""
RUN_GLUE = "\x1e"
"""Stands at the edge of a run where the page shows no blank between it and what is beside it."""


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    CODE = "code"
    TABLE = "table"
    QUOTE = "quote"
    ADMONITION = "admonition"
    FIGURE = "figure"
    MATH = "math"
    GLOSSARY_ENTRY = "glossary_entry"
    EXERCISE = "exercise"
    SOLUTION = "solution"
    REFERENCE = "reference"
    FOOTNOTE = "footnote"


class Site(StrEnum):
    DOCUSAURUS = "docusaurus"
    MDBOOK = "mdbook"
    MKDOCS = "mkdocs"
    MYST = "myst"
    PLAIN = "plain"


@fast_dataclass(frozen=True, slots=True)
class Part:
    """A joint inside a block where it may be split when it is too large for one chunk.

    A list item (with what is nested in it), a table row, a paragraph or a code block inside an
    admonition, quote, exercise or solution. Parts are in order, do not overlap and lie inside the
    block's span. `text` is what a reader sees. `kind` is LIST for an item, TABLE for a row.
    """

    kind: BlockKind
    start: int
    end: int
    text: str
    header: bool = False
    """True for a table's header row: repeated, as context, in every piece of a split table."""


@fast_dataclass(frozen=True, slots=True)
class Block:
    """One unit of a book's text: the unit that is cited.

    `text` is what a reader sees: inline mark-up resolved, entities decoded, link text kept, maths
    kept as TeX. `heading_path` runs from the page's title down to the section that holds the
    block; a heading's own path ends with itself. `anchor` is the id of that section's heading as
    the site generator makes it ("" above the first heading or under the page's title); `url` is
    the page's permalink with `#anchor`.
    """

    kind: BlockKind
    text: str
    file: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    anchor: str = ""
    url: str = ""
    paragraph_id: str = ""
    level: int = 0
    """1 to 6 for a heading, else 0."""
    language: str = ""
    """The programming language of a code block."""
    title: str = ""
    """A code block's title, an admonition's title, a figure's or listing's caption."""
    terms: tuple[str, ...] = ()
    """Terms that the author marks as defined here; for a glossary entry its term."""
    parts: tuple[Part, ...] = ()
    included: str = ""
    """The file whose text an include directive pulled into `text`, relative to the book."""
    author_id: str = ""
    """An id the author gave this block; wins over the content hash as paragraph id."""
    runs: str = ""
    """The text as the page shows it in line, with RUN_BOUNDARY wherever mark-up changes or maths
    or a footnote stands: the stretches between are what a text fragment may quote."""


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """Something in the source that was read, but not as its author meant: a broken include."""

    message: str
    file: str
    line: int
    """From 1; 0 for the file as a whole."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Document:
    """One source file of a book, read whole."""

    file: str
    """Path relative to the book's folder, with forward slashes."""
    title: str
    chapter: str
    """The title of the chapter (or unit) the page belongs to in the table of contents."""
    url: str
    """The page's permalink: base URL and path, no anchor; percent-encoded, as each block's is."""
    source: Text
    """The file's text, with blanks in the place of what the page hides."""
    blocks: tuple[Block, ...]
    position: int = 0
    """Place in the book's reading order, from 0."""
    language: str = "en"
    """ISO 639-1 code."""
    unknown: tuple[Span, ...] = ()
    """What lies neither in a block nor in a named class of mark-up: spans to look at."""
    settings: dict[str, str] = field(default_factory=dict)
    """Per-document settings from front matter (`rag_...` keys)."""

    @property
    def nonblank(self) -> int:
        """Characters of the source that are no blanks; a byte order mark in front is a blank."""
        return _count_nonblank(self.source) - (self.source[:1] == "\ufeff")

    @property
    def covered(self) -> int:
        """Those of them that lie in a block or in a named class of mark-up."""
        return self.nonblank - sum(
            _count_nonblank(self.source[start:end]) for start, end in self.unknown
        )


def _count_nonblank(text: Text) -> int:
    starts = range(0, len(text), _AT_ONCE)
    return sum(len("".join(text[start : start + _AT_ONCE].split())) for start in starts)


@dataclass(frozen=True, slots=True)
class Book:
    id: BookId
    title: str
    site: Site
    base_url: str
    language: str
    version: str
    """Hash of the content of every file of the book, first 16 hex digits of SHA-256."""
    documents: tuple[Document, ...]
    orphans: tuple[str, ...] = ()
    """Files that the table of contents leaves out: not indexed."""
    warnings: tuple[SourceWarning, ...] = ()

    def blocks(self) -> Iterator[Block]:
        for document in self.documents:
            yield from document.blocks

    @property
    def coverage(self) -> float:
        """Share of non-blank source characters that lie in a block or known mark-up, 0 to 1."""
        nonblank = sum(document.nonblank for document in self.documents)
        return sum(document.covered for document in self.documents) / nonblank if nonblank else 1.0
