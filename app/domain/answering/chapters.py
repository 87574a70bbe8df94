"""A book's chapters with their summaries and outlines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, takewhile

from app.domain.answering.intents import CHAPTER_NOUNS
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
MAX_LISTED = 50
"""Limit on the sections of an outline at the level that has more than `MAX_SECTIONS`."""
_NO_TEXT = NEVER_QUOTED | {BlockKind.FIGURE, BlockKind.FOOTNOTE, BlockKind.REFERENCE}

_SUMMARY_TITLES = {
    "en": "summary, recap, takeaways, key points, conclusion, conclusions, wrapping up, in brief,"
    " what you learned, what you ve learned, what we learned, what we ve learned, chapter review",
    "es": "resumen, recapitulación, conclusión, conclusiones, puntos clave, en resumen,"
    " lo que has aprendido",
    "de": "zusammenfassung, rückblick, fazit, das wichtigste, das wichtigste in kürze, auf einen"
    " blick, was sie gelernt haben",
    "fr": "résumé, récapitulatif, conclusion, points clés, à retenir, en résumé, l essentiel,"
    " ce que vous avez appris",
    "pt": "resumo, recapitulação, conclusão, conclusões, pontos principais, em resumo",
    "it": "riassunto, riepilogo, sommario, conclusione, conclusioni, punti chiave, in breve",
}
"""By language: how the title of a summary starts or ends."""
_SUMMARIES = tuple(
    f" {title.strip()} " for listed in _SUMMARY_TITLES.values() for title in listed.split(",")
)
_FRONT_MATTER = frozenset(
    "preface foreword prologue introduction acknowledgements vorwort geleitwort einleitung prefacio"
    " prólogo introducción préface avant propos prefácio introdução prefazione introduzione"
    " 前言 序言 序 まえがき はじめに 序文".split()
)
"""Titles of pages before the first chapter, which are not counted."""
_TITLE_NUMBER = re.compile(r"(?:(?P<noun>[^\W\d_]+) )?(?P<number>\d{1,3})(?=[.:)\s]|$)")
_CHINESE_CHAPTER = re.compile(rf"第\s?(\d{{1,3}}|[{NUMERALS}]{{1,3}})\s?[章课課讲講回]")
_FILE_NUMBER = re.compile(
    r"(?:^|/)(?:ch|chap|chapter|kapitel|capitulo|chapitre)?[-_]?(\d{1,3})(?!\d)", re.IGNORECASE
)
_FEWEST_NUMBERED = 2
"""Minimum number of chapters with a number; fewer may be coincidence ("12 rules")."""
_NUMBERED_SHARE = 1 / 3
"""Minimum share of the chapters with a number in title or file name."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """Adjacent pages of a book under one title in its table of contents."""

    book: BookId
    title: str
    pages: tuple[Chunk, ...]
    """The first chunk of each page, in reading order."""
    exercises: bool = False
    """Whether the chapter has an exercise."""
    number: int | None = None
    """The number that the site shows, else the one in the title, else the one in the name of the
    first file, else its position in the book."""

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
    """Return the chapters of a book in reading order, from all its chunks.

    A chapter of one page with a repeated title, such as "Introduction", becomes part of the next
    chapter.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.position, chunk.chunk_index))
    by_title = [
        (title, [*group]) for title, group in groupby(ordered, key=lambda chunk: chunk.chapter)
    ]
    again = Counter(title for title, _ in by_title)
    found: list[Chapter] = []
    opening: list[Chunk] = []
    for at, (title, held) in enumerate(by_title):
        if again[title] > 1 and _is_one_page(held) and at + 1 < len(by_title):
            opening += held
            continue
        found.append(_chapter(title, [*opening, *held]))
        opening = []
    return _numbered(found)


def page_of(chapter: Chapter, file: str) -> Chapter:
    """Return one page of a chapter as a chapter."""
    pages = tuple(page for page in chapter.pages if page.file == file)
    return replace(chapter, title=pages[0].heading_path[0], pages=pages, number=None)


def summary_sections(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the text of each section headed as a summary; empty if there is none.

    One that summarises only a part of the text is left out: it must be a page, a section of the
    first or last page, or at least every second page or section of its level must have one.
    """
    text = [one for one in context if one.passage.kind not in _NO_TEXT]
    groups = groupby(text, key=lambda one: (one.file, _summary_heading(one.passage)))
    found = [(file, heading, [*group]) for (file, heading), group in groups if heading]
    ends = {one.file for one in (*text[:1], *text[-1:])}

    def counts(file: str, level: int) -> bool:
        """Whether a summary in a section of this level of headings counts; 0 is a page's title."""
        if level == 0 or (level == 1 and file in ends):
            return True
        paths = ((one.file, one.passage.heading_path) for one in text)
        sections = {(within, path[:level]) for within, path in paths if len(path) >= level}
        headed = {
            (within, heading[:-1]) for within, heading, _ in found if len(heading) == level + 1
        }
        return 2 * len(headed) >= len(sections)

    return [section for file, heading, section in found if counts(file, len(heading) - 1)]


def outline(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return for each section its heading and its first two paragraphs.

    Paragraphs without a full sentence, such as labels and lists of links, do not count unless there
    are no others. The sections are those of the deepest heading level, 1 for the pages, that has at
    most `MAX_SECTIONS`; of the next deeper level if that has fewer than `FEWEST_SECTIONS`; at most
    `MAX_LISTED`.
    """
    text = _paragraphs(context)
    deepest = max((len(one.passage.heading_path) for one in text), default=0)
    found: list[list[ContextPassage]] = []
    for depth in range(deepest, 0, -1):
        deeper, found = found, _sections(text, depth)
        if len(found) <= MAX_SECTIONS:
            found = deeper if deeper and len(found) < FEWEST_SECTIONS else found
            break
    return found[:MAX_LISTED]


def _paragraphs(context: Sequence[ContextPassage]) -> list[ContextPassage]:
    """Return the paragraphs with a full sentence; all paragraphs if none has one."""
    text = [one for one in context if one.passage.kind is BlockKind.PARAGRAPH]
    return [one for one in text if has_sentence(one.passage.text)] or text


def _sections(text: Iterable[ContextPassage], depth: int) -> list[list[ContextPassage]]:
    groups = groupby(text, key=lambda one: (one.file, one.passage.heading_path[:depth]))
    firsts = ([*islice(held, 2)] for _, held in groups)
    return [[_heading(held[0], depth), *held] for held in firsts]


def _heading(first: ContextPassage, depth: int) -> ContextPassage:
    """Return the heading of this level above a paragraph, with the paragraph's id and link."""
    title = first.passage.heading_path[:depth][-1]
    return replace(first, passage=replace(first.passage, text=title, kind=BlockKind.HEADING))


def _chapter(title: str, chunks: Sequence[Chunk]) -> Chapter:
    pages = {chunk.file: chunk for chunk in reversed(chunks)}
    ordered = sorted(pages.values(), key=lambda chunk: chunk.position)
    tasks = any(
        passage.kind is BlockKind.EXERCISE for chunk in chunks for passage in chunk.passages
    )
    return Chapter(chunks[0].book, title, tuple(ordered), tasks)


def _numbered(chapters: Sequence[Chapter]) -> list[Chapter]:
    by_site = [replace(one, number=one.pages[0].chapter_number or None) for one in chapters]
    by_title = [replace(one, number=_number_in_title(one.title)) for one in chapters]
    by_file = [replace(one, number=_number_in_file(one.files[0])) for one in chapters]
    for numbered, share in ((by_site, 0), (by_title, _NUMBERED_SHARE), (by_file, _NUMBERED_SHARE)):
        count = sum(one.number is not None for one in numbered)
        if count >= max(_FEWEST_NUMBERED, share * len(chapters)):
            return _merged(numbered)
    front = len([*takewhile(_is_front_matter, chapters[:-1])])
    later = [replace(one, number=at) for at, one in enumerate(chapters[front:], 1)]
    return [*chapters[:front], *later]


def _merged(chapters: Sequence[Chapter]) -> list[Chapter]:
    """Merge adjacent chapters with one number, such as a landing page and its section."""
    found: list[Chapter] = []
    for one in chapters:
        last = found[-1] if found else None
        if last and one.number is not None and one.number == last.number:
            held = last.exercises or one.exercises
            found[-1] = replace(last, pages=(*last.pages, *one.pages), exercises=held)
        else:
            found.append(one)
    return found


def _number_in_title(title: str) -> int | None:
    if chinese := _CHINESE_CHAPTER.match(title):
        number = chinese[1]
        return int(number) if number.isdecimal() else chinese_number(number)
    found = _TITLE_NUMBER.match(title.casefold())
    if found is None or (found["noun"] and found["noun"] not in CHAPTER_NOUNS):
        return None
    return int(found["number"])


def _number_in_file(file: str) -> int | None:
    found = _FILE_NUMBER.search(file)
    return int(found[1]) if found else None


def _is_one_page(chunks: Sequence[Chunk]) -> bool:
    first = chunks[0]
    return first.heading_path[:1] == (first.chapter,) and len({one.file for one in chunks}) == 1


def _is_front_matter(chapter: Chapter) -> bool:
    return len(chapter.pages) == 1 and bool(_FRONT_MATTER.intersection(words(chapter.title)))


def _summary_heading(passage: Passage) -> tuple[str, ...]:
    """The heading path up to the first heading of a summary; () if there is none."""
    path = passage.heading_path
    for at, heading in enumerate(path, 1):
        title = f" {' '.join(words(heading))} "
        if title.startswith(_SUMMARIES) or title.endswith(_SUMMARIES):
            return path[:at]
    return ()
