"""Context assembly: hits split into paragraphs, each character once, within a budget.

Passages are taken from the best hit down and merged by their offsets in the paragraph's text:
overlapping or adjacent parts of a paragraph become one. A passage is taken whole or not at all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.fences_and_tables import is_fence_or_table, whole_lines
from app.domain.retrieval.query import ContextPassage, Hit
from app.domain.scripts import script_scale

_Section: TypeAlias = tuple[str, str, tuple[str, ...]]
_Paragraph: TypeAlias = tuple[str, str, str | int]

_RUNNING_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.FOOTNOTE})
_ADJACENT = 3
"""Most characters, all blank, between two parts of a paragraph that follow each other."""


def assemble(
    hits: Sequence[Hit], token_budget: int, count_tokens: Callable[[str], int]
) -> tuple[ContextPassage, ...]:
    """Return the passages of `hits` that fit into the budget.

    Sections (file and heading path) are ordered by their best hit, passages within one by reading
    order. The sum of `tokens`, counted over the passages' text, is at most `token_budget` times the
    `script_scale` of the hits. The order of `hits` has no effect. Headings are left out: they are
    in the heading path.
    """
    texts = (passage.text for hit in hits for passage in hit.chunk.passages)
    left = int(token_budget * script_scale(texts, count_tokens))
    kept: dict[_Paragraph, list[ContextPassage]] = {}
    order = attrgetter("chunk.book", "chunk.position", "chunk.chunk_index", "chunk.chunk_id")
    for hit in sorted(hits, key=lambda one: (-one.score, *order(one))):
        for passage in hit.chunk.own_passages:
            if passage.kind is BlockKind.HEADING:
                continue
            place = _paragraph(hit.chunk, passage)
            before = kept.get(place, [])
            after = _with_part(before, passage, hit, count_tokens)
            growth = sum(one.tokens for one in after) - sum(one.tokens for one in before)
            if growth <= max(left, 0):
                kept[place], left = after, left - growth
    return _in_reading_order(chain.from_iterable(kept.values()))


def _with_part(
    kept: Sequence[ContextPassage], part: Passage, hit: Hit, count_tokens: Callable[[str], int]
) -> list[ContextPassage]:
    """Return what is kept of a paragraph with one more part, joined to those that it adjoins."""
    beside = [one for one in kept if _adjoin(one.passage, part)]
    (whole,) = _joined([*(one.passage for one in beside), part])
    score = max([hit.score, *(one.score for one in beside)])
    chunk = beside[0].chunk if beside else hit.chunk
    joined = ContextPassage(whole, chunk, score, count_tokens(whole.text))
    return [*(one for one in kept if one not in beside), joined]


def context_of(chunks: Iterable[Chunk], count_tokens: Callable[[str], int]) -> list[ContextPassage]:
    """Return every paragraph of these chunks once, in reading order, headings included."""
    return [
        ContextPassage(passage, chunk, 1.0, count_tokens(passage.text))
        for chunk, passage in paragraphs_of(chunks)
    ]


def whole_passage(chunks: Iterable[Chunk], paragraph_id: str) -> Passage | None:
    """Return the whole paragraph; None if it is in none of the chunks."""
    parts = [p for chunk in chunks for p in chunk.passages if p.paragraph_id == paragraph_id]
    return next(iter(_joined(parts)), None)


def paragraphs_of(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Passage]]:
    """Yield every paragraph once, joined from its parts, with its first chunk, in reading order.

    If parts of a paragraph are missing, it is several passages.
    """
    held: dict[_Paragraph, list[tuple[Chunk, Passage]]] = {}
    for chunk in sorted(chunks, key=lambda one: (one.book, one.position, one.chunk_index)):
        for passage in chunk.passages:
            held.setdefault(_paragraph(chunk, passage), []).append((chunk, passage))
    for found in sorted(held.values(), key=lambda one: (one[0][0].position, one[0][1].start)):
        yield from ((found[0][0], one) for one in _joined(passage for _, passage in found))


def _paragraph(chunk: Chunk, passage: Passage) -> _Paragraph:
    return (chunk.book, chunk.file, passage.paragraph_id or passage.start)


def _in_reading_order(kept: Iterable[ContextPassage]) -> tuple[ContextPassage, ...]:
    """Sort by section, then by place; passages that begin at one place by their chunk."""
    listed = [*kept]
    best: dict[_Section, float] = {}
    for one in listed:
        best[_section(one)] = max(one.score, best.get(_section(one), 0.0))

    def key(one: ContextPassage) -> tuple[float, _Section, int, int, int]:
        section, passage = _section(one), one.passage
        return (-best[section], section, passage.start, passage.offset, one.chunk.chunk_index)

    return tuple(sorted(listed, key=key))


def _section(one: ContextPassage) -> _Section:
    return (one.book, one.file, one.passage.heading_path)


def _adjoin(one: Passage, other: Passage) -> bool:
    """Whether two parts of a paragraph overlap or follow each other."""
    first, second = sorted((one, other), key=lambda part: part.offset)
    return second.offset - first.stop <= _ADJACENT


def _joined(parts: Iterable[Passage]) -> list[Passage]:
    """Join the parts of a paragraph, given in any order, that overlap or follow each other."""
    joined: list[Passage] = []
    for part in sorted(parts, key=lambda one: (one.offset, -one.stop)):
        if joined and _adjoin(joined[-1], part):
            joined[-1] = _union(joined[-1], part)
        else:
            joined.append(part)
    return joined


def _union(first: Passage, second: Passage) -> Passage:
    """Join two parts that adjoin, of which the first does not begin after the second."""
    gap = second.offset - first.stop
    if second.stop <= first.stop:
        return first
    return replace(
        first,
        text=first.text + _blanks(first, second, gap) + second.own_text[max(0, -gap) :],
        start=min(first.start, second.start),
        end=max(first.end, second.end),
    )


def _blanks(first: Passage, second: Passage, gap: int) -> str:
    """Return blanks between two parts of a paragraph: line ends next to code or a table."""
    texts = (first.text, second.text)
    has_block = any(is_fence_or_table(line) for text in texts for line in whole_lines(text))
    return (" " if first.kind in _RUNNING_TEXT and not has_block else "\n") * gap
