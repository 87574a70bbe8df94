"""A book's chapters with their summaries, outlines and exercises, and clarifying questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, islice

from app.domain.answering.intents import CHAPTER_NOUNS, label_numbers
from app.domain.answering.units import NEVER_QUOTED
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import words

MAX_SECTIONS = 12
"""Limit on the sections of an outline; a longer one uses a higher heading level."""
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
    " prólogo introducción préface avant propos prefácio introdução prefazione introduzione".split()
)
"""Titles of pages before the first chapter, which are not counted."""
_TITLE_NUMBER = re.compile(r"(?:(?P<noun>[^\W\d_]+) )?(?P<number>\d{1,3})(?=[.:)\s]|$)")
_FILE_NUMBER = re.compile(
    r"(?:^|/)(?:ch|chap|chapter|kapitel|capitulo|chapitre)?[-_]?(\d{1,3})(?!\d)", re.IGNORECASE
)
_FEWEST_NUMBERED = 2
"""Minimum number of chapters with a number in title or file name; fewer may be coincidence ("12
rules")."""


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


def context_of(chunks: Iterable[Chunk], count_tokens: Callable[[str], int]) -> list[ContextPassage]:
    """Return every paragraph of these chunks once, in reading order, headings included."""
    placed: dict[tuple[int, int, int], ContextPassage] = {}
    for chunk in chunks:
        for passage in chunk.passages:
            one = ContextPassage(
                passage=passage,
                book=chunk.book,
                file=chunk.file,
                chapter=chunk.chapter,
                section=passage.heading_path[-1] if passage.heading_path else chunk.section,
                score=1.0,
                chunk_ids=(chunk.chunk_id,),
                tokens=0,
            )
            placed.setdefault((chunk.position, passage.start, -passage.end), one)
    found: list[ContextPassage] = []
    for _, one in sorted(placed.items(), key=lambda item: item[0]):
        # One chunk may hold a part of a long block, another chunk the whole block.
        last = found[-1] if found else None
        if last and last.file == one.file and one.passage.end <= last.passage.end:
            continue
        found.append(replace(one, tokens=count_tokens(one.passage.text)))
    return found


def summary_sections(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the text of each section with the heading of a summary; empty if there is none."""
    text = [one for one in context if one.passage.kind not in _NO_TEXT]
    groups = groupby(text, key=lambda one: (one.file, _summary_heading(one.passage)))
    return [[*group] for (_, heading), group in groups if heading]


def outline(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the first two paragraphs of each section.

    Sections are those of the deepest heading level that has at most `MAX_SECTIONS`. Level 0 is the
    page; it is used however many pages there are.
    """
    text = [one for one in context if one.passage.kind is BlockKind.PARAGRAPH]
    deepest = max((len(one.passage.heading_path) for one in text), default=0)
    firsts: list[list[ContextPassage]] = []
    for depth in range(deepest, -1, -1):
        groups = groupby(text, key=lambda one: (one.file, one.passage.heading_path[:depth]))
        firsts = [[*islice(group, 2)] for _, group in groups]
        if len(firsts) <= MAX_SECTIONS:
            break
    return firsts


def exercises(context: Sequence[ContextPassage]) -> list[ContextPassage]:
    """Return the exercises in reading order.

    If the heading above an exercise asks the question, its text replaces the exercise: the text
    below it has choices, often with their solution.
    """
    return [_asked(one) for one in context if one.passage.kind is BlockKind.EXERCISE]


def exercise_numbered(
    context: Sequence[ContextPassage], chapter: int | None, number: int
) -> Passage | None:
    """Return the exercise with the label "4.2" or "2"; None if there is none.

    If no exercise has a label, `number` is its position, from 1. If `chapter` is None, no single
    chapter is meant, and only the label "2" counts.
    """
    tasks = [one.passage for one in context if one.passage.kind is BlockKind.EXERCISE]
    labels = {task_label(one): one for one in reversed(tasks)}
    if any(labels) or chapter is None:
        qualified = labels.get((chapter, number)) if chapter is not None else None
        return qualified or labels.get((number,))
    return tasks[number - 1] if 0 < number <= len(tasks) else None


def task_label(task: Passage) -> tuple[int, ...]:
    """Return the label of an exercise or solution, such as (4, 2) for "Exercise 4.2".

    It is in the heading or at the beginning of the text; () if there is none.
    """
    heading = task.heading_path[-1] if task.heading_path else ""
    return label_numbers(heading) or label_numbers(task.text)


def _asked(exercise: ContextPassage) -> ContextPassage:
    heading = exercise.passage.heading_path[-1] if exercise.passage.heading_path else ""
    if not heading.endswith("?"):
        return exercise
    asked = replace(exercise.passage, text=heading, kind=BlockKind.HEADING)
    return replace(exercise, passage=asked)


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
    for numbered in (by_site, by_title, by_file):
        if sum(one.number is not None for one in numbered) >= _FEWEST_NUMBERED:
            return _merged(numbered)
    front = 0
    while front < len(chapters) - 1 and _is_front_matter(chapters[front]):
        front += 1
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


class Asking(StrEnum):
    """What a request leaves open, or what the book does not have."""

    BOOK = "book"
    CHAPTER = "chapter"
    EXERCISE = "exercise"
    NOTHING = "nothing"


_TEXTS = {
    "en": {
        Asking.BOOK: "Which book do you mean? There are: {}.",
        Asking.CHAPTER: "Which chapter do you mean? The book has: {}.",
        Asking.EXERCISE: "I cannot find that exercise. These chapters have exercises: {}.",
        Asking.NOTHING: "I cannot find any exercises there.",
    },
    "de": {
        Asking.BOOK: "Welches Buch meinen Sie? Es gibt: {}.",
        Asking.CHAPTER: "Welches Kapitel meinen Sie? Das Buch hat: {}.",
        Asking.EXERCISE: "Diese Übung finde ich nicht. Übungen haben diese Kapitel: {}.",
        Asking.NOTHING: "Dort finde ich keine Übungen.",
    },
    "es": {
        Asking.BOOK: "¿A qué libro se refiere? Hay: {}.",
        Asking.CHAPTER: "¿A qué capítulo se refiere? El libro tiene: {}.",
        Asking.EXERCISE: "No encuentro ese ejercicio. Estos capítulos tienen ejercicios: {}.",
        Asking.NOTHING: "No encuentro ejercicios ahí.",
    },
    "fr": {
        Asking.BOOK: "De quel livre parlez-vous ? Il y a : {}.",
        Asking.CHAPTER: "De quel chapitre parlez-vous ? Le livre contient : {}.",
        Asking.EXERCISE: "Je ne trouve pas cet exercice. Ces chapitres ont des exercices : {}.",
        Asking.NOTHING: "Je n'y trouve pas d'exercices.",
    },
}
TERM_QUESTIONS = {
    "en": "What is {}?",
    "de": "Was bedeutet {}?",
    "es": "¿Qué es {}?",
    "fr": "Que signifie {} ?",
}
"""Question for a glossary term, by language."""


def clarifying_question(asking: Asking, language: str, names: Sequence[str] = ()) -> str:
    """Return the clarifying question, with the names of the books or chapters to choose from."""
    return _TEXTS[language][asking].format("; ".join(names))
