"""Which paragraphs of the book an offline answer shows, and how much of long ones.

Paragraphs are taken from the best one down, within a limit of words. With a list, listing, table or
formula comes the paragraph before it as lead-in, with a text that ends with a colon or a question,
and with a label, such as a caption or a file name, the block after it. Of a long block the run of
units around the best one is shown. Paragraphs that follow each other in a section are one passage.
"""

from collections.abc import Iterable, Sequence

from app.domain.answering.relevance import Candidate, ScoredUnit
from app.domain.answering.units import (
    WHOLE,
    Unit,
    announces,
    ends_in_sentence,
    has_sentence,
    whole_unit,
)
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import table_rows
from app.domain.scripts import word_count
from app.domain.terms import joined_words

MAX_PASSAGES = 5
MAX_ANSWER_WORDS = 260
"""Limit for all passages together; one block with its lead-in may exceed it."""
MAX_BLOCK_WORDS = 120
"""A longer text, list or table is shown in part."""
_UNDIVIDED = frozenset({BlockKind.CODE, BlockKind.MATH})
_INTRODUCED = frozenset({BlockKind.LIST, *WHOLE})
_LABEL_CHARS = 200
"""A longer paragraph is text without its full stop."""


def choose(
    paragraphs: Sequence[Candidate], best_first: Iterable[int], read: str
) -> list[list[int]]:
    """Return the positions of the paragraphs of each passage, best passage first.

    A paragraph is taken if there is room, and if neither `read`, text that the reader has, nor what
    is taken contains it.
    """
    taken: list[int] = []
    told, words = joined_words(read), 0
    for at in best_first:
        added = [one for one in _with_neighbours(paragraphs, at) if one not in taken]
        parts = [shown_part(paragraphs[one]) for one in added]
        size = sum(part.size for part in parts)
        said = joined_words(shown_part(paragraphs[at]).text)
        if added and said not in told and not (taken and words + size > MAX_ANSWER_WORDS):
            taken += added
            words += size
            told += "\n".join(["", *(joined_words(part.text) for part in parts)])
    runs: list[list[int]] = []
    for at in sorted(taken):
        if runs and runs[-1][-1] == at - 1 and _follows(paragraphs, at):
            runs[-1].append(at)
        else:
            runs.append([at])
    return sorted(runs, key=lambda run: min(map(taken.index, run)))[:MAX_PASSAGES]


def shown_part(paragraph: Candidate) -> Unit:
    """Return the paragraph as one unit; of a long one the run of units around the best one."""
    source, scored = paragraph.source, paragraph.scored
    whole, text = whole_unit(source), source.passage.text
    if whole.size <= MAX_BLOCK_WORDS or whole.kind in _UNDIVIDED or not scored:
        return whole
    header = table_rows(text)[0] if whole.kind is BlockKind.TABLE else 0
    start, end = _best_run(text, scored, MAX_BLOCK_WORDS - word_count(text[:header]))
    if whole.kind is BlockKind.LIST:
        start = text.rfind("\n", 0, start) + 1  # with the item's marker
    return Unit(source, start, end)


def _best_run(text: str, scored: Sequence[ScoredUnit], most: int) -> Span:
    """Return the span of the best unit with neighbours, the better one first, within `most` words.

    What stands between two units, such as the listing of a glossary entry, counts too.
    """
    first = last = max(range(len(scored)), key=lambda at: scored[at].score)
    while True:
        wider = [
            (scored[added].score, low, high)
            for added, low, high in ((first - 1, first - 1, last), (last + 1, first, last + 1))
            if 0 <= added < len(scored)
            and word_count(text[scored[low].unit.start : scored[high].unit.end]) <= most
        ]
        if not wider:
            return scored[first].unit.start, scored[last].unit.end
        _, first, last = max(wider)


def _with_neighbours(paragraphs: Sequence[Candidate], at: int) -> range:
    """Return the paragraph with its lead-in and the block it announces.

    Empty if that block is missing: the lead-in alone would be incomplete.
    """
    first = last = at
    while at - first < 2 and _is_block(paragraphs[first]) and _follows(paragraphs, first):
        first -= 1
    while _introduces(paragraphs[last : last + 2]):
        last += 1
        if not _follows(paragraphs, last):
            return range(0)
    return range(first, last + 1)


def _introduces(both: Sequence[Candidate]) -> bool:
    """Whether the first one introduces the second, or is the label of such a block."""
    passage, following = both[0].source.passage, both[-1].source.passage
    if passage.kind is not BlockKind.PARAGRAPH or not _is_block(both[-1]):
        return announces(passage)
    label = len(passage.text) <= _LABEL_CHARS and not has_sentence(passage.text)
    unfinished = following.kind in _UNDIVIDED and not ends_in_sentence(passage.text)
    return announces(passage) or label or unfinished


def _follows(paragraphs: Sequence[Candidate], at: int) -> bool:
    """Whether a passage may hold the paragraph and the one before it.

    They follow each other in one section, may be shown, and are no glossary entries.
    """
    if not (0 < at < len(paragraphs) and paragraphs[at].follows):
        return False
    both = paragraphs[at - 1 : at + 1]
    entry = any(one.source.passage.kind is BlockKind.GLOSSARY_ENTRY for one in both)
    return not entry and all(one.units for one in both)


def _is_block(paragraph: Candidate) -> bool:
    return paragraph.source.passage.kind in _INTRODUCED
