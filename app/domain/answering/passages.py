"""Which paragraphs of the book an offline answer shows, and how much of long ones.

Paragraphs are taken from the best one down, within a limit of words. With a list, listing, table or
formula comes the paragraph before it as lead-in, of a long one the last sentence; with a text that
ends with a colon or a question, or without the end of a sentence, the block after it; with the rest
of a sentence, the block before it. Of a long block the run of units around the best one is shown.
Paragraphs that follow each other in a section are one passage, with a short one between them.
"""

from collections.abc import Iterable, Sequence

from app.domain.answering.relevance import Candidate, ScoredUnit
from app.domain.answering.units import WHOLE, Unit, announces, only_sends, whole_unit
from app.domain.document import BlockKind, Span
from app.domain.fences_and_tables import table_rows
from app.domain.scripts import word_count
from app.domain.terms import ends_in_sentence, has_sentence, joined_words

MAX_PASSAGES = 5
LEAST_WORDS, WORDS_PER_TERM, MOST_TERMS = 190, 10, 10
"""Limit for all passages together, by the question's terms; see `word_limit`."""
MAX_ANSWER_WORDS = LEAST_WORDS + WORDS_PER_TERM * MOST_TERMS
MAX_BLOCK_WORDS = 120
"""A longer text, list or table is shown in part."""
LEAST_RUN = 50
"""A part is not cut to fewer words where little room is left; a lead-in of so many is whole."""
MAX_LABEL_WORDS = 12
"""A longer paragraph without the end of a sentence is text without its full stop."""
_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.ADMONITION})
_INTRODUCED = frozenset({BlockKind.LIST, *WHOLE})


def word_limit(terms: int) -> int:
    """Return the most words of an answer: a question of more terms needs more of the book.

    One block with its lead-in may exceed it.
    """
    return LEAST_WORDS + WORDS_PER_TERM * min(terms, MOST_TERMS)


def choose(
    paragraphs: Sequence[Candidate], best_first: Iterable[int], limit: int, read: str
) -> list[dict[int, Unit]]:
    """Return for each passage what is shown of its paragraphs, by position, best passage first.

    A paragraph is taken if there is room within `limit` words, and if neither `read`, text that the
    reader has, nor what is taken contains it. A short one between two comes without being counted.
    """
    taken: dict[int, Unit] = {}
    told = joined_words(read)
    for at in best_first:
        room = limit - sum(part.size for part in taken.values())
        parts = _with_neighbours(paragraphs, at, room)
        new = {one: part for one, part in parts.items() if part.size > _size(taken.get(one))}
        size = sum(part.size - _size(taken.get(one)) for one, part in new.items())
        if at in new and joined_words(new[at].text) not in told and (size <= room or not taken):
            taken |= new
            told += "\n".join(["", *(joined_words(part.text) for part in new.values())])
    for at in [*taken]:
        if at + 2 in taken and _follows(paragraphs, at + 1) and _follows(paragraphs, at + 2):
            between = shown_part(paragraphs[at + 1])
            taken |= {at + 1: between} if between.size <= LEAST_RUN else {}
    order = [*taken]
    runs: list[dict[int, Unit]] = []
    for at in sorted(taken):
        if not (runs and at - 1 in runs[-1] and _follows(paragraphs, at)):
            runs.append({})
        runs[-1][at] = taken[at]
    return sorted(runs, key=lambda run: min(map(order.index, run)))[:MAX_PASSAGES]


def _size(part: Unit | None) -> int:
    return part.size if part else 0


def _with_neighbours(paragraphs: Sequence[Candidate], at: int, room: int) -> dict[int, Unit]:
    """Return what is shown of the paragraph, of its lead-in and of the blocks that belong to it."""
    first = last = at
    while _introduces(paragraphs, last):
        last += 1
    while _continues(paragraphs, first):
        first -= 1
    shown = {one: shown_part(paragraphs[one]) for one in range(first, last + 1) if one != at}
    if _is_block(paragraphs[first]) and _follows(paragraphs, first):
        before = shown_part(paragraphs[first - 1])
        shown[first - 1] = before if before.size <= LEAST_RUN else paragraphs[first - 1].units[-1]
    left = max(LEAST_RUN, min(MAX_BLOCK_WORDS, room - sum(part.size for part in shown.values())))
    return shown | {at: shown_part(paragraphs[at], left)}


def shown_part(paragraph: Candidate, most: int = MAX_BLOCK_WORDS) -> Unit:
    """Return the paragraph as one unit; of a longer one the run of units around the best one."""
    source, scored, text = paragraph.source, paragraph.scored, paragraph.source.passage.text
    whole = whole_unit(source)
    if announces(source.passage):  # its last unit may be left out
        whole = Unit(source, 0, paragraph.units[-1].end)
    if whole.size <= most or not scored:
        return whole
    header = table_rows(text)[0] if whole.kind is BlockKind.TABLE else 0
    start, end = _best_run(text, scored, most - word_count(text[:header]))
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


def _introduces(paragraphs: Sequence[Candidate], at: int) -> bool:
    """Whether the paragraph introduces the next one: a label or sentence that a block completes."""
    if not _follows(paragraphs, at + 1):
        return False
    passage = paragraphs[at].source.passage
    completed = _is_block(paragraphs[at + 1]) or _resumes(paragraphs, at + 1)
    beside = passage.kind is BlockKind.PARAGRAPH and completed
    return announces(passage) or (beside and not ends_in_sentence(passage.text))


def _continues(paragraphs: Sequence[Candidate], at: int) -> bool:
    """Whether the paragraph continues a sentence that a block before it interrupts."""
    passage = paragraphs[at].source.passage
    begun = passage.kind is BlockKind.PARAGRAPH and passage.text[:1].islower()
    interrupted = _resumes(paragraphs, at) or (begun and _is_block(paragraphs[at - 1]))
    return _follows(paragraphs, at) and interrupted


def _resumes(paragraphs: Sequence[Candidate], at: int) -> bool:
    """Whether the paragraph completes a sentence after a formula that ends the paragraph before."""
    both = [one.source.passage for one in paragraphs[max(at - 1, 0) : at + 1]]
    texts = all(one.kind is BlockKind.PARAGRAPH for one in both)
    return texts and both[0].text.endswith("$") and not both[-1].text[:1].isupper()


def tells_nothing(paragraphs: Sequence[Candidate], at: int) -> bool:
    """Whether the paragraph tells nothing alone: it sends elsewhere, or is a few words.

    A label that introduces a block is shown with it, and a formula may stand alone.
    """
    passage = paragraphs[at].source.passage
    if passage.kind not in _TEXT or _introduces(paragraphs, at):
        return False
    few = word_count(passage.text) <= MAX_LABEL_WORDS and not passage.text.endswith("$")
    return only_sends(passage.text) or (few and not has_sentence(passage.text))


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
