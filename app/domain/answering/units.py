"""Quotable units: an extractive answer quotes each of them whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from app.domain.answering.bibliography import is_bibliographic, only_leads_on
from app.domain.answering.definitions import only_refers
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind, Span
from app.domain.fast_dataclass import fast_dataclass
from app.domain.fences_and_tables import is_fence_or_table, table_rows, whole_lines
from app.domain.retrieval.query import ContextPassage
from app.domain.scripts import word_count

SplitSentences: TypeAlias = Callable[[str, str], Sequence[Span]]
"""(text, ISO 639-1 code) -> half-open spans of its sentences."""

WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY})
"""Kinds that are quoted as one unit."""
INTRODUCING = (":", "\uff1a", "?", "\uff1f", "\u061f")
"""Endings of a text that introduces the next one."""
BLOCKS = frozenset({BlockKind.LIST, *WHOLE})
"""Kinds that a sentence may introduce."""
NEVER_QUOTED = frozenset({BlockKind.HEADING, BlockKind.EXERCISE, BlockKind.SOLUTION})
"""Exercises state nothing; solutions are shown only on request."""
LEAST_TEXT = 0.6
"""Minimum share of text in a list's source, in characters. A list below it consists of links, as do
all 24 such lists among the hits of the students' development questions."""
MAX_UNIT_WORDS = 250
"""Longer listings are not quoted; readers find them next to a cited paragraph."""
LONG_SENTENCE_WORDS = 60
_CACHED_PASSAGES = 4_096
"""Passages in the cache: many questions retrieve the same ones."""

LONG_ENTRY_WORDS = 60
"""Glossary entries with more words are split into sentences."""

_PROSE = re.compile(
    r"(?:\A|(?<=\n\n))\S(?:(?!\n\n).)*[.!?:\u3002\uff01\uff1f](?=\n\n|\s*\Z)", re.DOTALL
)
"""A paragraph of a glossary entry that ends like a sentence, unlike a signature or listing."""
_TITLE_WORDS = 12
_GAP = 80  # maximum characters of mark-up between two adjacent passages
_INCLUDE = re.compile(r"\s*\{\{#\w*include\b[^}]*\}\}\s*$")
_TEMPLATE = re.compile(
    r"\{%[^{}]*%\}|\{\{[<%#][^{}]*\}\}|\{\{-?\s*(?:page|site|layout|config|include)\.[^{}]*\}\}"
    r"|\A\s*\{\{[^{}]*\}\}\s*\Z"
)
"""What is left of a site generator's template: `{{ page.title }}`, `{% include x %}`."""
_UNASSIGNED = re.compile(
    r"[ \t]*[A-Za-z_][\w.]*(?:\[[^\]\n]*\])?(?:, [A-Za-z_]\w*)*[ \t]=[ \t]*(?:#.*)?"
)
_GAP_TO_FILL = re.compile(
    r"(?<![\w\"'`/.-])_{3,20}(?![\w\"'`])|\byour (?:code|answer|solution) here\b"
    r"|\b(?:todo|unimplemented)!\(",
    re.IGNORECASE,
)
_EMPTY_ASSIGNMENT_LANGUAGES = frozenset(
    "ini toml cfg conf properties env dotenv yaml make makefile sh bash shell zsh console "
    "text txt diff haskell hs ocaml fsharp elm".split()
)
"""Languages in which an assignment may be empty, or its value begin on the next line."""
_LABEL_CHARS = 200
"""A longer paragraph is text without its full stop."""
_JOINT = re.compile(r"(?<=[;.!?])(?<!\b[^\W\d_]\.)[ \t]+|\s*\n\s*")
"""Where a sentence that is too long is split; not after the full stop of an initial."""
_SOLUTION_TITLE = re.compile(r"(?:solution|answer|lösung|solución)s?\W*\n+(?=\S)", re.IGNORECASE)
_MARKER = re.compile(r"(?P<indent>[ \t]*)(?P<marker>[-*+\u2022]|\d{1,3}[.)])[ \t]+")
_SENTENCE_END = re.compile(
    "[.!?\u2026\u0964\u061f\u06d4\u1362\u17d4]['\")\\]*_\u2019\u201d\u00bb]*(?=\\s|$)"
    "|[\u3002\uff01\uff0e\uff1f\uff61]['\")\\]\u2019\u201d\u300d\u300f\uff09]*"
)


@fast_dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table row, code block or glossary entry.

    `text` is `context[passage].passage.text[start:end]`.
    """

    passage: int
    start: int
    end: int
    kind: BlockKind
    text: str

    @property
    def size(self) -> int:
        """Number of words."""
        return word_count(self.text)


def whole_unit(at: int, one: ContextPassage) -> Unit:
    """Return the paragraph as one unit, without a title such as "Solution"."""
    text, kind = one.passage.text, one.passage.kind
    start = title_end(text)
    shown_as = BlockKind.PARAGRAPH if kind is BlockKind.LIST else kind
    return Unit(at, start, len(text), shown_as, text[start:])


def title_end(text: str) -> int:
    """Return where the text begins after a title such as "Solution"; 0 without one."""
    title = _SOLUTION_TITLE.match(text)
    return title.end() if title else 0


def has_sentence(text: str) -> bool:
    """Whether a sentence ends in the text, unlike in a label or a line of links."""
    return _SENTENCE_END.search(text) is not None


def ends_sentence(text: str) -> bool:
    """Whether the text ends as a sentence does."""
    return any(found.end() == len(text) for found in _SENTENCE_END.finditer(text))


def units(
    context: Sequence[ContextPassage],
    split_sentences: SplitSentences,
    language: str,
    places: Iterable[int] | None = None,
) -> Iterator[Unit]:
    """Yield the units of the paragraphs at these positions of the context; None: of all."""
    for at in range(len(context)) if places is None else places:
        passage = context[at].passage
        for kind, start, end in _quotable(passage, split_sentences, language):
            yield Unit(at, start, end, kind, passage.text[start:end])


@lru_cache(_CACHED_PASSAGES)
def _quotable(
    passage: Passage, split_sentences: SplitSentences, language: str
) -> Sequence[tuple[BlockKind, int, int]]:
    """Return kind, start and end of each unit of the passage; empty if it may not be shown."""
    if not is_quotable(passage):
        return ()
    return [
        (kind, start, end)
        for kind, start, end in _spans(passage, split_sentences, language)
        if 0 < word_count(passage.text[start:end]) <= MAX_UNIT_WORDS
        and not _is_only_title(passage, start, end)
    ]


def is_quotable(passage: Passage) -> bool:
    """Whether the paragraph may be shown.

    Not shown: headings, exercises, solutions, bibliographies, lists of links, glossary entries that
    only refer to another one, what is left of a template, code with blanks to fill in, listings of
    more than `MAX_UNIT_WORDS`.
    """
    if passage.kind in NEVER_QUOTED or only_refers(passage):
        return False
    if is_bibliographic(passage) or only_leads_on(passage):
        return False
    whole = passage.kind in WHOLE and passage.kind is not BlockKind.TABLE
    if whole and word_count(passage.text) > MAX_UNIT_WORDS:
        return _is_article(passage)
    if passage.kind is BlockKind.LIST and len(passage.text) < LEAST_TEXT * (
        passage.end - passage.start
    ):
        return False
    if passage.kind is not BlockKind.CODE:
        return _TEMPLATE.search(passage.text) is None
    return not (_INCLUDE.match(passage.text) or has_blanks(passage.text, passage.language))


def has_blanks(code: str, language: str) -> bool:
    """Whether the code is a task with blanks for the reader to fill in."""
    if language.lower() in _EMPTY_ASSIGNMENT_LANGUAGES:
        return False
    if _GAP_TO_FILL.search(code):
        return True
    lines = [line for line in code.split("\n") if line.strip()]
    return any(
        _UNASSIGNED.fullmatch(line) and _indent(after) <= _indent(line)
        for line, after in pairwise([*lines, ""])
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def begins_entry(unit: Unit, passage: Passage) -> bool:
    """Whether the unit is a glossary entry, or the first sentence of a long one."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY or unit.kind is passage.kind:
        return unit.kind is BlockKind.GLOSSARY_ENTRY
    prose = next(_prose(passage.text), None)
    return prose is not None and unit.start == prose.start()


def _is_article(passage: Passage) -> bool:
    """Whether the passage is a long glossary entry with prose that can be quoted alone."""
    if passage.kind is not BlockKind.GLOSSARY_ENTRY:
        return False
    return word_count(passage.text) > LONG_ENTRY_WORDS and any(_prose(passage.text))


def _prose(text: str) -> Iterator[re.Match[str]]:
    """Yield the paragraphs that end like a sentence, none of them inside code or a table."""
    lines = (
        re.sub(".", "`", line) if is_fence_or_table(line) else line for line in whole_lines(text)
    )
    return _PROSE.finditer("".join(lines))


def _is_only_title(passage: Passage, start: int, end: int) -> bool:
    """Whether `text[start:end]` is only the title of an admonition."""
    text = passage.text
    titled = passage.kind is BlockKind.ADMONITION and start == 0 < end < len(text)
    return titled and len(text[:end].split()) <= _TITLE_WORDS and text[end - 1].isalnum()


def _spans(
    passage: Passage, split_sentences: SplitSentences, language: str
) -> Iterator[tuple[BlockKind, int, int]]:
    text = passage.text
    if _is_article(passage):
        for prose in _prose(text):
            for start, end in split_sentences(prose[0], language):
                yield BlockKind.PARAGRAPH, prose.start() + start, prose.start() + end
    elif passage.kind is BlockKind.TABLE:
        for start, end in table_rows(text)[1] or [(0, len(text))]:
            yield BlockKind.TABLE, start, end
    elif passage.kind in WHOLE:
        yield passage.kind, 0, len(text)
    elif passage.kind is BlockKind.LIST:
        for start, end in list_items(text):
            yield BlockKind.LIST, start, end
    else:
        yield from _mixed_spans(passage, split_sentences, language)


def _mixed_spans(
    passage: Passage, split_sentences: SplitSentences, language: str
) -> Iterator[tuple[BlockKind, int, int]]:
    """Yield the sentences and list items of a text that may have both, such as an admonition."""
    for is_list, first, last in _stretches(passage.text):
        part = passage.text[first:last]
        kind = BlockKind.LIST if is_list else passage.kind
        found = list_items(part) if is_list else _sentences(part, split_sentences, language)
        for start, end in found:
            yield kind, first + start, first + end


def _sentences(text: str, split_sentences: SplitSentences, language: str) -> Iterator[Span]:
    """Yield sentences; split those that are too long."""
    for span, is_whole in sentences_and_fences(text, split_sentences, language):
        yield from [span] if is_whole else _pieces(text, span)


def sentences_and_fences(
    text: str, split_sentences: SplitSentences, language: str
) -> Iterator[tuple[Span, bool]]:
    """Yield the sentences, and each fence or table as one, for which the second value is true."""
    start = at = 0
    for line in (*whole_lines(text), ""):
        if not line or is_fence_or_table(line):
            for first, last in split_sentences(text[start:at], language) if at > start else ():
                yield (start + first, start + last), False
            start = at + len(line)
        if is_fence_or_table(line):
            yield (at, at + len(line.rstrip())), True
        at += len(line)


def _stretches(text: str) -> Iterator[tuple[bool, int, int]]:
    """Split a text where a list begins or ends: (is a list, start, end)."""
    start = at = 0
    listing = False
    for line in whole_lines(text):
        marker = _MARKER.match(line)
        goes_on = listing and (marker or line[:1] in " \t\n")
        if bool(marker or goes_on) != listing:
            if at > start:
                yield listing, start, at
            start, listing = at, not listing
        at += len(line)
    if at > start:
        yield listing, start, at


def _pieces(text: str, sentence: Span) -> Iterator[Span]:
    """Split a sentence that is too long at semicolons and line ends."""
    start, end = sentence
    if word_count(text[start:end]) > LONG_SENTENCE_WORDS:
        for joint in _JOINT.finditer(text, start, end):
            yield start, joint.start()
            start = joint.end()
    yield start, end


def list_items(text: str) -> Iterator[Span]:
    """Yield the spans of the top-level items without markers; nested items stay inside."""
    start = at = 0
    indent: int | None = None
    for line in whole_lines(text):
        marker = _MARKER.match(line)
        if marker and (indent is None or len(marker["indent"]) <= indent):
            yield from _item(text, start, at)
            indent = len(marker["indent"])
            start = at + marker.end()
        at += len(line)
    yield from _item(text, start, at)


def _item(text: str, start: int, end: int) -> Iterator[Span]:
    item = text[start:end].rstrip()
    if item.strip():
        yield start, start + len(item)


def marker_before(text: str, start: int) -> str:
    """Return the marker of the list item at `start`: its number, else "-"."""
    number = re.search(r"(\d{1,3}[.)])[ \t]+$", text[:start])
    return number[1] if number else "-"


def announces(one: Unit | Passage) -> bool:
    """Whether the text introduces the next one."""
    return one.kind not in WHOLE and one.text.rstrip().endswith(INTRODUCING)


def is_label(passage: Passage) -> bool:
    """Whether the paragraph has no sentence: a caption, a title in bold, a link to another page."""
    if passage.kind is not BlockKind.PARAGRAPH or len(passage.text) > _LABEL_CHARS:
        return False
    return not (has_sentence(passage.text) or announces(passage))


def is_caption(passage: Passage) -> bool:
    """Whether the text is a caption or alternative text without a sentence, which says nothing."""
    return passage.kind is BlockKind.FIGURE and not has_sentence(passage.text)


def adjoin(context: Sequence[ContextPassage], first: int, second: int) -> bool:
    """Whether only mark-up is between the two passages in the book."""
    if second >= len(context):
        return False
    one, other = context[first], context[second]
    gap = other.passage.start - one.passage.end
    return (one.book, one.file) == (other.book, other.file) and 0 <= gap <= _GAP


def continues_section(context: Sequence[ContextPassage], at: int) -> bool:
    """Whether the passage follows the one before it in the book, in the same section."""
    if not 0 < at < len(context):
        return False
    one, other = context[at - 1].passage, context[at].passage
    return one.heading_path == other.heading_path and adjoin(context, at - 1, at)
