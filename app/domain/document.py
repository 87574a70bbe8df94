"""The parsed book: documents of typed blocks with exact source spans.

Offsets are code points of the file's text, decoded as UTF-8 with its original line ends; a byte
order mark is one code point. Spans are half-open: `source[start:end]`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self, TypeAlias

from app.domain.book_id import BookId
from app.domain.errors import place
from app.domain.fences_and_tables import without_fences
from app.domain.links import PageText

Span: TypeAlias = tuple[int, int]


def union(spans: Iterable[Span], gap: int = 0) -> tuple[Span, ...]:
    """Return the union as ascending spans, each more than `gap` behind the one before."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start - merged[-1][1] <= gap:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


_WORD = re.compile(r"\w+")

RUN_BOUNDARY = "\x1f"
"""Separates two runs of a block's text (ASCII unit separator)."""
RUN_GLUE = "\x1e"
"""Marks an edge of a run where the page shows no blank next to it."""


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


@dataclass(frozen=True, slots=True)
class Figure:
    """An image of the book and the texts that stand for it."""

    url: str
    """Absolute, or a path from the root of the book's host."""
    alt: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A unit of text, such as a paragraph: the unit of citation.

    `text` is what a reader sees: without inline mark-up, entities decoded, link text kept, maths as
    TeX; inside larger blocks, code in fences and tables with a rule. `heading_path` goes from the
    page's title, with its chapter if pages share it, to the block's section; a heading's path ends
    with itself. `anchor` is the id that the site generator gives the section's heading; "" above
    the first heading and under the page's title. `url` is the page's permalink with `#anchor`.
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
    """The hash of the text, until `keep_ids` gives the block an id of its own in the book."""
    level: int = 0
    """1 to 6 for a heading, else 0."""
    language: str = ""
    """The programming language of a code block."""
    terms: tuple[str, ...] = ()
    """Terms that the author marks as defined here; the terms of a glossary entry."""
    author_id: str = ""
    """Id given by the author; the paragraph id if it is the only one of the book."""
    element_id: str = ""
    """Id of its element on a built page, by its author or by `stamp`; "" if it has none."""
    runs: str = ""
    """The inline text of the page, with RUN_BOUNDARY at each change of mark-up, formula and
    footnote. A text fragment may quote from one run only."""
    figure: Figure | None = None
    """The first image that stands alone in the block."""

    @property
    def unfenced_text(self) -> str:
        """`text` without the lines of fences, which no page shows."""
        return self.text if self.kind is BlockKind.CODE else without_fences(self.text)


@dataclass(frozen=True, slots=True)
class SourceWarning:
    """A problem in the source that did not stop the reading, such as a broken include."""

    message: str
    file: str
    """"" for the book as a whole."""
    line: int
    """From 1; 0 for the file as a whole."""

    def __str__(self) -> str:
        return f"{place(self.file, self.line)}: {self.message}" if self.file else self.message


@dataclass(frozen=True, slots=True)
class Document:
    """One source file of a book."""

    file: str
    """Path relative to the book's folder, with forward slashes."""
    title: str
    chapter: str
    """Title of the chapter that the page belongs to in the table of contents."""
    url: str
    """The page's permalink without anchor, percent-encoded."""
    source: str
    """The file's Markdown; of a built page, the texts of its blocks joined by blank lines."""
    blocks: tuple[Block, ...]
    position: int = 0
    """Position in the book's reading order, from 0."""
    language: str = "en"
    """ISO 639-1 code."""
    html: str = ""
    """The page as it was rendered from Markdown; "" for a built page."""
    shown: PageText | None = None
    """The whole text of a built page, furniture included; None if the page is not built."""
    chapter_number: int = 0
    """The number that the site shows for the chapter; 0 if none."""
    content: str = ""
    """All text of the page without its furniture, to tell what is in no block."""

    def below(self, title: str) -> Self:
        """Return the page with this title as the first part of its heading paths."""
        paths = ([part for part in one.heading_path[1:] if part != title] for one in self.blocks)
        pairs = zip(self.blocks, paths, strict=True)
        blocks = (replace(one, heading_path=(title, *path)) for one, path in pairs)
        return replace(self, blocks=tuple(blocks))

    def unread(self) -> list[str]:
        """Return the words of the content that are in no block."""
        words = Counter(_WORD.findall(self.content))
        for block in self.blocks:
            words.subtract(_WORD.findall(block.text))
        return list((+words).elements())


@dataclass(frozen=True, slots=True)
class Book:
    id: BookId
    title: str
    site: str
    """The generator of the Markdown (`Site`), or the theme of the built pages."""
    base_url: str
    language: str
    version: str
    """Hash of the content of every file of the book, first 16 hex digits of SHA-256."""
    documents: tuple[Document, ...]
    warnings: tuple[SourceWarning, ...] = ()

    def blocks(self) -> Iterator[Block]:
        for document in self.documents:
            yield from document.blocks

    def coverage(self) -> float:
        """Return the share of the words of the pages' content that are in blocks, 0 to 1."""
        words = sum(len(_WORD.findall(document.content)) for document in self.documents)
        unread = sum(len(document.unread()) for document in self.documents)
        return 1 - unread / max(words, 1)
