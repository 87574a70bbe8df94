"""A book for language models, as two text files (https://llmstxt.org).

`llms.txt` is the table of contents with links to the pages, `llms-full.txt` the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from app.domain.answering.chapters import chapters_of
from app.domain.answering.passage_text import passage_markdown
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import paragraphs_of

_ABOUT = 200
"""Maximum characters of a page's description."""
_MARKUP = re.compile(r"([\\\[\]])")


@dataclass(frozen=True, slots=True)
class PageSummary:
    title: str
    url: str
    """Without a fragment."""
    about: str
    """The beginning of its text."""


@dataclass(frozen=True, slots=True)
class ChapterList:
    """A book's table of contents."""

    title: str
    language: str
    chapters: tuple[tuple[str, tuple[PageSummary, ...]], ...]
    """Names with their pages, in reading order."""


def contents_of(title: str, language: str, chunks: Sequence[Chunk]) -> ChapterList:
    """Return the table of contents; `chunks` are all of the book."""
    paragraphs: dict[str, str] = {}
    for chunk in sorted(chunks, key=lambda one: (one.position, one.chunk_index)):
        if text := _first_paragraph(chunk.own_passages):
            paragraphs.setdefault(chunk.file, text)
    return ChapterList(
        title,
        language,
        tuple(
            (one.name, tuple(_page(page, paragraphs.get(page.file, "")) for page in one.pages))
            for one in chapters_of(chunks)
        ),
    )


def short_text(contents: ChapterList) -> str:
    """Return `llms.txt`. Consecutive chapters of one page each share one list."""
    lines = [f"# {_line(contents.title)}", "", f"> Textbook, language: {contents.language}.", ""]
    for single, group in groupby(contents.chapters, key=lambda one: len(one[1]) == 1):
        held = [*group]
        if single:
            pages = [page for _, found in held for page in found]
            lines += _section("Chapters", pages)
        else:
            for name, found in held:
                lines += _section(name, found)
    return "\n".join(lines).rstrip() + "\n"


def full_text(title: str, chunks: Sequence[Chunk]) -> str:
    """Return `llms-full.txt`: each paragraph once, in reading order, below its headings."""
    parts = [f"# {_line(title)}"]
    for _, page in groupby(paragraphs_of(chunks), lambda one: one[0].file):
        parts += _whole_page([passage for _, passage in page])
    return "\n\n".join(parts) + "\n"


def page_text(chunks: Sequence[Chunk]) -> str:
    """Return a page as Markdown; `chunks` are all of the page."""
    return "\n\n".join(_whole_page([one for _, one in paragraphs_of(chunks)], top=1)) + "\n"


def _page(first: Chunk, about: str) -> PageSummary:
    title = first.heading_path[0] if first.heading_path else first.section or first.file
    return PageSummary(title, _without_fragment(first.deep_link_url), about)


def _first_paragraph(passages: Sequence[Passage]) -> str:
    text = next((one.text for one in passages if one.kind is BlockKind.PARAGRAPH), "")
    plain = _line(text)
    return plain if len(plain) <= _ABOUT else plain[:_ABOUT].rpartition(" ")[0] + " …"


def _section(name: str, pages: Sequence[PageSummary]) -> list[str]:
    items = [
        f"- [{_escaped(page.title)}]({page.url}){f': {page.about}' if page.about else ''}"
        for page in pages
    ]
    return [f"## {_line(name)}", "", *items, ""]


def _whole_page(passages: Sequence[Passage], top: int = 2) -> Iterator[str]:
    """Yield the headings, the page's title at level `top`, and the paragraphs."""
    path: tuple[str, ...] = ()
    for at, passage in enumerate(passages):
        if passage.kind is BlockKind.HEADING:  # its title may equal that of the previous section
            path = path[: len(passage.heading_path) - 1]
        pairs = zip(path, passage.heading_path, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        path = passage.heading_path
        for depth, heading in enumerate(path[same:], same + top):
            yield f"{'#' * min(depth, 6)} {_line(heading)}"
        if at == 0 and passage.url:
            yield f"Source: {_without_fragment(passage.url)}"
        if passage.kind is not BlockKind.HEADING:
            yield passage_markdown(passage)


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _line(text))
