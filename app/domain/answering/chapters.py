"""A book's chapters with their summaries and outlines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, takewhile

from app.domain.answering.part_requests import CHAPTER_NOUNS
from app.domain.answering.units import NEVER_QUOTED, has_sentence
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import NUMERALS, chinese_number, words

MAX_SECTIONS = 12
"""Limit on the sections of an outline; a longer one uses a higher heading level."""
FEWEST_SECTIONS = 3
"""Minimum number of sections of an outline, if the text has as many."""
MAX_PAGES = 30
"""Limit on the sections of an outline if even the pages are more than `MAX_SECTIONS`."""
_NO_TEXT = NEVER_QUOTED | {BlockKind.FIGURE, BlockKind.FOOTNOTE, BlockKind.REFERENCE}

_SUMMARY_TITLE = re.compile(
    r"^(?:{0})\b|\b(?:{0})$".format(
        "summary|recap|takeaways|key points|conclusions?|wrapping up|in brief"
        "|what (?:you|we)(?: ve)? learned|chapter review"
        "|resumen|recapitulación|conclusión|conclusiones|puntos clave|lo que has aprendido"
        "|zusammenfassung|rückblick|fazit|das wichtigste|auf einen blick|was sie gelernt haben"
        "|résumé|récapitulatif|points clés|à retenir|l essentiel|ce que vous avez appris"
        "|resumo|recapitulação|conclusão|conclusões|pontos principais"
        "|riassunto|riepilogo|sommario|conclusione|conclusioni|punti chiave|in breve"
    )
)
"""How the words of a summary's title start or end."""
_FRONT_MATTER = frozenset(
    "preface foreword prologue introduction acknowledgements vorwort geleitwort einleitung prefacio"
    " prólogo introducción préface avant propos prefácio introdução prefazione introduzione"
    " 前言 序言 序 まえがき はじめに 序文".split()
)
"""Titles of pages before the first chapter, which are not counted."""
_TITLE_NUMBER = re.compile(r"(?:(?P<noun>[^\W\d_]+) )?(?P<number>\d{1,3})(?=[.:)\s]|$)")
_CHINESE_CHAPTER = re.compile(rf"第\s?(\d{{1,3}}|[{NUMERALS}]{{1,3}})\s?[章课課讲講回]")
_FEWEST_NUMBERED = 2
"""Minimum number of chapters with a number; fewer may be coincidence ("12 rules")."""
_NUMBERED_SHARE = 1 / 3
"""Minimum share of the chapters with a number in the title."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """Adjacent pages of a book under one title in its table of contents."""

    book: BookId
    title: str
    pages: tuple[Chunk, ...]
    """The first chunk of each page, in reading order."""
    number: int | None = None
    """The number that the site shows, else the one in the title, else its position in the book."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(page.file for page in self.pages)

    @property
    def language(self) -> str:
        return self.pages[0].language

    @property
    def name(self) -> str:
        """The title, preceded by the number if there is one."""
        numbered = self.number is None or _number_in_title(self.title) is not None
        return self.title if numbered else f"{self.number}. {self.title}"


def chapters_of(chunks: Iterable[Chunk]) -> list[Chapter]:
    """Return the chapters of a book in reading order, from all its chunks."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.position, chunk.chunk_index))
    groups = groupby(ordered, key=lambda chunk: chunk.chapter)
    return _numbered([_chapter(title, [*held]) for title, held in groups])


def page_of(chapter: Chapter, file: str) -> Chapter:
    """Return one page of a chapter as a chapter."""
    pages = tuple(page for page in chapter.pages if page.file == file)
    return replace(chapter, title=pages[0].heading_path[0], pages=pages, number=None)


def summary_sections(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the text of each section headed as a summary of the whole; empty if there is none.

    It must be a page, a section of the first or last page, or at least every second page must have
    one.
    """
    text = [one for one in context if one.passage.kind not in _NO_TEXT]
    groups = groupby(text, key=lambda one: (one.file, _summary_heading(one.passage)))
    found = [(file, heading, [*group]) for (file, heading), group in groups if heading]
    ends = {one.file for one in (*text[:1], *text[-1:])}
    mostly = 2 * len({file for file, *_ in found}) >= len({one.file for one in text})
    return [
        section for file, heading, section in found if len(heading) == 1 or file in ends or mostly
    ]


def outline(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the first two paragraphs of each section.

    Paragraphs without a full sentence, such as labels and lists of links, do not count unless there
    are no others. The sections are those of the deepest heading level, 1 for the pages, that has at
    most `MAX_SECTIONS`; of the next deeper level if that has fewer than `FEWEST_SECTIONS`; at most
    `MAX_PAGES`.
    """
    text = _paragraphs(context)
    deepest = max((len(one.passage.heading_path) for one in text), default=0)
    found: list[list[ContextPassage]] = []
    for depth in range(deepest, 0, -1):
        deeper, found = found, _sections(text, depth)
        if len(found) <= MAX_SECTIONS:
            found = deeper if deeper and len(found) < FEWEST_SECTIONS else found
            break
    return found[:MAX_PAGES]


def _paragraphs(context: Sequence[ContextPassage]) -> list[ContextPassage]:
    """Return the paragraphs with a full sentence; all paragraphs if none has one."""
    text = [one for one in context if one.passage.kind is BlockKind.PARAGRAPH]
    return [one for one in text if has_sentence(one.passage.text)] or text


def _sections(text: Iterable[ContextPassage], depth: int) -> list[list[ContextPassage]]:
    groups = groupby(text, key=lambda one: (one.file, one.passage.heading_path[:depth]))
    return [[*islice(held, 2)] for _, held in groups]


def _chapter(title: str, chunks: Sequence[Chunk]) -> Chapter:
    pages = {chunk.file: chunk for chunk in reversed(chunks)}
    ordered = sorted(pages.values(), key=lambda chunk: chunk.position)
    return Chapter(chunks[0].book, title, tuple(ordered))


def _numbered(chapters: Sequence[Chapter]) -> list[Chapter]:
    by_site = [replace(one, number=one.pages[0].chapter_number or None) for one in chapters]
    by_title = [replace(one, number=_number_in_title(one.title)) for one in chapters]
    for numbered, share in ((by_site, 0), (by_title, _NUMBERED_SHARE)):
        count = sum(one.number is not None for one in numbered)
        if count >= max(_FEWEST_NUMBERED, share * len(chapters)):
            return numbered
    front = len([*takewhile(_is_front_matter, chapters[:-1])])
    later = [replace(one, number=at) for at, one in enumerate(chapters[front:], 1)]
    return [*chapters[:front], *later]


def _number_in_title(title: str) -> int | None:
    if chinese := _CHINESE_CHAPTER.match(title):
        number = chinese[1]
        return int(number) if number.isdecimal() else chinese_number(number)
    found = _TITLE_NUMBER.match(title.casefold())
    if found is None or (found["noun"] and found["noun"] not in CHAPTER_NOUNS):
        return None
    return int(found["number"])


def _is_front_matter(chapter: Chapter) -> bool:
    return len(chapter.pages) == 1 and bool(_FRONT_MATTER.intersection(words(chapter.title)))


def _summary_heading(passage: Passage) -> tuple[str, ...]:
    """Return the path to the heading of a summary: a page or section; () if there is none."""
    path = passage.heading_path
    for at, heading in enumerate(path[:2], 1):
        if _SUMMARY_TITLE.search(" ".join(words(heading))):
            return path[:at]
    return ()
