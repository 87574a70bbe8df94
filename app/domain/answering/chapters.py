"""A book's chapters and sections: their numbers and titles, what answers a request for one, such as
a summary, and what answers a question that names one by its heading.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, combinations, groupby, islice, takewhile
from typing import NamedTuple

from app.domain.answering.extractive import ChosenPassage, ExtractiveAnswer, answer_of
from app.domain.answering.intents import CHAPTER_NOUNS, SECTION_NOUNS, Here, Intent
from app.domain.answering.passages import MAX_PASSAGES
from app.domain.answering.units import (
    INTRODUCING,
    NEVER_QUOTED,
    SplitSentences,
    Unit,
    states_objectives,
    units_of,
    whole_unit,
)
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.definitions import heading_forms
from app.domain.document import BlockKind
from app.domain.languages import compares, in_any, known_language
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import Terms, has_sentence, words

MAX_SUMMARY_WORDS = 250
"""Limit on the words of a chapter's own summary, unless its first block has more."""
MIN_BEGINNING_WORDS = 60
"""Of a section that is shown because the question is its heading."""
MIN_SECTIONS, MAX_SECTIONS = 3, 30
"""Of an outline, if the text has as many."""
_NO_TEXT = NEVER_QUOTED | {BlockKind.FIGURE, BlockKind.FOOTNOTE, BlockKind.REFERENCE}

_SUMMARY_TITLE = re.compile(r"^(?:{0})\b|\b(?:{0})$".format(in_any("summary")))
"""How the words of a summary's title start or end."""
_NUMBERED = re.compile(r"\b\d+\.\d")
_FRONT_MATTER = frozenset(words(in_any("front_matter")))
"""Titles of pages before the first chapter, which are not counted."""
_HOME = re.compile(r"(?:index|readme|summary)\.\w+", re.IGNORECASE)
_TITLE_NUMBER = re.compile(rf"(?:(?:{CHAPTER_NOUNS}) |第\s?)?(\d{{1,3}})(?=[.:)\s章课課讲講回]|$)")
_FEWEST_NUMBERED = 2
_NUMBERED_SHARE = 1 / 3
"""Minimum count and share of chapters with a number; fewer may be coincidence ("12 rules")."""


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
    def name(self) -> str:
        """The title, preceded by the number if there is one."""
        numbered = self.number is None or _number_in_title(self.title) is not None
        return self.title if numbered else f"{self.number}. {self.title}"


def chapters_of(chunks: Iterable[Chunk]) -> list[Chapter]:
    """Return the chapters of a book in reading order, from all its chunks."""
    pages: dict[str, Chunk] = {}
    for chunk in sorted(chunks, key=lambda one: (one.position, one.chunk_index)):
        pages.setdefault(chunk.file, chunk)
    groups = [tuple(held) for _, held in groupby(pages.values(), key=lambda page: page.chapter)]
    chapters = [Chapter(held[0].book, held[0].chapter, held) for held in groups]
    return [replace(one, number=at) for one, at in zip(chapters, _numbers(chapters), strict=True)]


def _numbers(chapters: Sequence[Chapter]) -> list[int | None]:
    by_site = [one.pages[0].chapter_number or None for one in chapters]
    by_title = [_number_in_title(one.title) for one in chapters]
    for numbers in (by_site, by_title):
        count = sum(one is not None for one in numbers)
        if count >= max(_FEWEST_NUMBERED, _NUMBERED_SHARE * len(chapters)):
            return numbers
    front = len([*takewhile(partial(_is_front, chapters), chapters[:-1])])
    return [None] * front + [*range(1, len(chapters) - front + 1)]


def _is_front(chapters: Sequence[Chapter], one: Chapter) -> bool:
    """Whether a chapter at the beginning does not count: the home page, a preface, or a single page
    where most chapters have several.
    """
    several = 2 * sum(len(other.pages) > 1 for other in chapters) > len(chapters)
    named = _FRONT_MATTER.intersection(words(one.title)) or _HOME.fullmatch(one.files[0])
    return len(one.pages) == 1 and bool(several or named)


def _number_in_title(title: str) -> int | None:
    found = _TITLE_NUMBER.match(title.casefold())
    return int(found[1]) if found else None


def titled(
    chapters: Sequence[Chapter], intent: Intent, terms: Callable[[str, str], frozenset[int]]
) -> list[Chapter]:
    """Return the chapters that the request names by their title, with or without its subtitle; else
    the pages; else, if it asks for a chapter, the only one whose title has these words.
    """
    within: list[Chapter] = []
    pages = [page_of(one, file) for one in chapters for file in one.files]
    for parts in (chapters, pages):
        found = []
        for one in parts:
            said = [terms(form, one.pages[0].language) for form in heading_forms(one.title)]
            asked = terms(intent.title, one.pages[0].language)
            if asked in said:
                found.append(one)
            elif parts is chapters and asked and asked <= said[0]:
                within.append(one)
        if found:
            return found
    return within if len(within) == 1 and intent.chapter is Here.CHAPTER else []


def page_of(chapter: Chapter, file: str) -> Chapter:
    """Return one page of a chapter as a chapter."""
    pages = tuple(page for page in chapter.pages if page.file == file)
    return replace(chapter, title=pages[0].heading_path[0], pages=pages, number=None)


def summary(
    passages: Sequence[ContextPassage],
    split_sentences: SplitSentences,
    language: str,
    token_budget: int,
    section: str = "",
) -> tuple[Sequence[ContextPassage], ExtractiveAnswer]:
    """Return the beginning of the section with this number, or a summary; with its context.

    The summary is the chapter's own, else the first sentence of each section. The context has the
    first blocks of each of these within the budget, at least one.
    """
    text = _text_of(passages)
    below = _numbered(text, section) or _placed(text, section) if section else []
    own = [below] if section else summary_sections(text)
    context: list[ContextPassage] = []
    chosen: list[ChosenPassage] = []
    for blocks in own or outline(text):
        held = blocks[: _fitting((one.tokens for one in blocks), token_budget)]
        context += held
        if own:
            shown = _leading([*map(whole_unit, held)], MAX_SUMMARY_WORDS // len(own))
        else:
            shown = _first_sentence(
                unit for one in held for unit in units_of(one, split_sentences, language)
            )
        # Without marks, since all of it is the answer.
        chosen += [ChosenPassage(shown)] if shown else []
    return context, answer_of(chosen, titled=len(chosen) > 1 or bool(section))


def _text_of(passages: Iterable[ContextPassage]) -> list[ContextPassage]:
    """Return what may be shown; learning objectives only if there is nothing else."""
    text = [one for one in passages if one.passage.kind not in _NO_TEXT]
    before = [None, *(one.passage for one in text)]
    objectives = map(states_objectives, (one.passage for one in text), before)
    return [one for one, states in zip(text, objectives, strict=True) if not states] or text


def _numbered(text: Sequence[ContextPassage], number: str) -> list[ContextPassage]:
    """Return what is below a heading with this number: "10.4 Lists", "Section 10.4"."""
    nouns = rf"(?:§|{SECTION_NOUNS}|{CHAPTER_NOUNS})"
    heading = re.compile(rf"(?:{nouns}\s*)?{re.escape(number)}(?!\.?\d)", re.IGNORECASE)
    return [one for one in text if any(map(heading.match, one.passage.heading_path))]


def _placed(text: Sequence[ContextPassage], number: str) -> list[ContextPassage]:
    """Return the section at this place of its chapter, if no heading has a number: of "17.3" the
    third page after that of the chapter's title, or the third section of its only page.
    """
    depth = 1 if len({one.file for one in text}) > 1 else 2
    groups = groupby(text, key=lambda one: (one.file, one.passage.heading_path[:depth]))
    found = [[*held] for (_, path), held in groups if len(path) == depth]
    numbered = any(_NUMBERED.search(one[0].passage.heading_path[-1]) for one in found)
    chapters = {one.chunk.chapter for one in text}
    if not found or numbered or len(chapters) != 1 or number.count(".") != 1:
        return []
    first = found[0][0]
    opens = depth == 1 and first.passage.heading_path[0].startswith(first.chunk.chapter)
    at = int(number.partition(".")[2]) - (not opens)
    return found[at] if 0 <= at < len(found) else []


def _fitting(sizes: Iterable[int], limit: int) -> int:
    """Return how many of the first ones fit together; at least one."""
    return max(sum(total <= limit for total in accumulate(sizes)), 1)


def _leading(blocks: Sequence[Unit], max_words: int) -> Sequence[Unit]:
    """Return the first blocks, without a lead-in at their end."""
    fitting = _fitting((unit.size for unit in blocks), max_words)
    while fitting > 1 and blocks[fitting - 1].text.endswith(INTRODUCING):
        fitting -= 1
    return blocks[:fitting]


def _first_sentence(section: Iterable[Unit]) -> Sequence[Unit]:
    """Return the first unit that is a sentence, else the first one that introduces nothing."""
    found = [one for one in section if not one.text.endswith(INTRODUCING)]
    return [one for one in found if has_sentence(one.text)][:1] or found[:1]


class Headed(NamedTuple):
    """A section that a question names by its heading."""

    book: BookId
    file: str
    path: tuple[str, ...]


def named_sections(
    asked: str, chunks: Iterable[Chunk], terms: Terms, language: str
) -> list[Headed]:
    """Return the only section, or the outermost, that has the question as its heading.

    Of a comparison return the section that compares, else the two whose headings have all its terms
    together, each one that the other lacks; both or neither have words that the question lacks.
    [] if there are none.
    """
    said, known = words(asked), known_language(language)
    frame = f"{known.frame} {known.comparison}".split()
    content = terms(" ".join(word for word in said if word not in frame))
    asks_to_compare = compares(said, language)
    comparison = terms(known.comparison) - content  # "comparative advantage" is no comparison
    exact: dict[Headed, None] = {}
    sides: dict[frozenset[int], dict[frozenset[int], Headed]] = {}
    for one in _headed(chunks):
        for form in _forms(one.path[-1]):
            own = terms(" ".join(form)) if asks_to_compare else frozenset[int]()
            if form == said or (own >= content and own & comparison):
                exact[one] = None
            elif (side := own & content) and side < content:
                sides.setdefault(own - content, {}).setdefault(side, one)
    first = min(exact, key=lambda one: len(one.path), default=None)
    if first:
        below = all(one.path[: len(first.path)] == first.path for one in exact)
        return [first] if below else []
    alike = (sides[rest] for rest in sorted(sides, key=len))
    pairs = ((one[a], one[b]) for one in alike for a, b in combinations(one, 2) if a | b == content)
    return [*next(pairs, ())]


@lru_cache(4_096)
def _forms(heading: str) -> Sequence[Sequence[str]]:
    """Return the words of each form of a heading; many questions retrieve the same headings."""
    return [*map(words, heading_forms(heading))]


def _headed(chunks: Iterable[Chunk]) -> Iterable[Headed]:
    """Return the sections of the chunks and those around them, each once."""
    paths = {
        (chunk.book, chunk.file, one.heading_path): None
        for chunk in chunks
        for one in chunk.own_passages
    }
    return dict.fromkeys(
        Headed(book, file, path[:depth])
        for book, file, path in paths
        for depth in range(1, len(path) + 1)
    )


def text_within(section: Iterable[ContextPassage], token_budget: int) -> list[ContextPassage]:
    """Return the first blocks of a section that may be shown, within the budget."""
    text = _text_of(section)
    return text[: _fitting((one.tokens for one in text), token_budget)]


def beginning(text: Sequence[ContextPassage], parts: int = 1) -> ChosenPassage | None:
    """Return the first blocks of one of so many sections; None if they say too little."""
    shown = _leading([*map(whole_unit, text)], MAX_SUMMARY_WORDS // parts)
    enough = sum(one.size for one in shown) >= MIN_BEGINNING_WORDS // parts
    return ChosenPassage(shown) if enough else None


def beginnings(sides: Sequence[Sequence[ContextPassage]]) -> list[ChosenPassage]:
    """Return the beginning of each section that says enough; together they are as long as one."""
    return [*filter(None, (beginning(one, len(sides)) for one in sides))]


def with_sides(
    best: Sequence[ChosenPassage], sides: Sequence[Sequence[ContextPassage]]
) -> Sequence[ChosenPassage]:
    """Return the passages of a comparison and, behind the best one, the beginning of each section
    that none of them is from.
    """
    shown = {part.source.passage.paragraph_id for one in best for part in one.parts}
    told = [side for side in sides if shown & {one.passage.paragraph_id for one in side}]
    added = [one for one in beginnings(sides) if not any(one.parts[0].source in at for at in told)]
    return [*best[:1], *added, *best[1 : MAX_PASSAGES - 2 * len(added)]] if added else best


def summary_sections(text: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the text of each section headed as a summary of the whole; empty if there is none.

    It must be a page, a section of the first or last page, or at least every second page must have
    one.
    """
    groups = groupby(text, key=lambda one: (one.file, _summary_heading(one.passage)))
    found = [(file, heading, [*group]) for (file, heading), group in groups if heading]
    ends = {one.file for one in (*text[:1], *text[-1:])}
    mostly = 2 * len({file for file, *_ in found}) >= len({one.file for one in text})
    return [
        section for file, heading, section in found if len(heading) == 1 or file in ends or mostly
    ]


def _summary_heading(passage: Passage) -> tuple[str, ...]:
    """Return the path to the heading of a summary: a page or section; () if there is none."""
    path = passage.heading_path
    for at, heading in enumerate(path[:2], 1):
        if _SUMMARY_TITLE.search(" ".join(words(heading))):
            return path[:at]
    return ()


def outline(context: Sequence[ContextPassage]) -> list[list[ContextPassage]]:
    """Return the first two paragraphs of each section, at most `MAX_SECTIONS`.

    Paragraphs without a full sentence, such as labels and lists of links, do not count unless there
    are no others. The sections are those of the highest heading level, 1 for the pages, that has
    `MIN_SECTIONS`; else of the deepest one.
    """
    paragraphs = [one for one in context if one.passage.kind is BlockKind.PARAGRAPH]
    text = [one for one in paragraphs if has_sentence(one.passage.text)] or paragraphs
    deepest = max((len(one.passage.heading_path) for one in text), default=0)
    found: list[list[ContextPassage]] = []
    for depth in range(1, deepest + 1):
        if len(found) < MIN_SECTIONS:
            found = _sections(text, depth)
    return found[:MAX_SECTIONS]


def _sections(text: Iterable[ContextPassage], depth: int) -> list[list[ContextPassage]]:
    groups = groupby(text, key=lambda one: (one.file, one.passage.heading_path[:depth]))
    return [[*islice(held, 2)] for _, held in groups]
