"""Context assembly: hits split into paragraphs, each source character once, within a budget.

Passages are taken from the best hit down and merged by source interval. A passage inside a kept
one is skipped; one that contains kept parts replaces them; adjacent parts of a paragraph become
one. A passage is taken whole or not at all. Remaining room goes to whole lists, tables or
exercises of which a hit holds only a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, starmap
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import script_scale
from app.domain.document import BlockKind
from app.domain.fences_and_tables import is_fence_or_table, whole_lines
from app.domain.retrieval.query import ContextPassage, Hit

_Section: TypeAlias = tuple[str, str, tuple[str, ...]]

REPEATED_WEIGHT = 0.5
"""Factor on a hit's score for a passage that it repeats from another section as overlap."""

SECTION_SHARE = 0.5
"""Share of the budget that one section may use in the first round over all hits."""

COMPLETED_KINDS = frozenset(
    {
        BlockKind.LIST,
        BlockKind.TABLE,
        BlockKind.EXERCISE,
        BlockKind.SOLUTION,
        BlockKind.ADMONITION,
        BlockKind.CODE,
    }
)
"""Kinds that are completed if a hit has only a part: a part alone is hard to understand."""

_RUNNING_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.FOOTNOTE})


def edge_passages(chunk: Chunk) -> tuple[Passage, ...]:
    """Return the first and last passage, without overlap, that a neighbouring chunk may continue.

    These are passages of `COMPLETED_KINDS`.
    """
    own = chunk.own_passages
    ends = {passage.start: passage for passage in (own[:1] + own[-1:])}
    return tuple(passage for passage in ends.values() if passage.kind in COMPLETED_KINDS)


def assemble(
    hits: Sequence[Hit],
    token_budget: int,
    count_tokens: Callable[[str], int],
    whole_blocks: Sequence[tuple[Passage, Hit]] = (),
) -> tuple[ContextPassage, ...]:
    """Return the passages of `hits` that fit into the budget.

    `whole_blocks` are (block, hit) for hits with a part of the block; a block replaces its parts if
    there is room.

    Sections (file and heading path) are ordered by their best hit, passages within one by reading
    order. The sum of `tokens`, counted over the passages' text, is at most `token_budget` times the
    `script_scale` of the hits. The order of `hits` has no effect. Headings are left out: they are
    in the heading path.
    """
    ordered = sorted(hits, key=_by_score)
    texts = (passage.text for hit in hits for passage in hit.chunk.passages)
    token_budget = int(token_budget * script_scale(texts, count_tokens))
    context = _Context(token_budget, count_tokens, _part_boundaries(ordered))
    offers = [(passage, hit) for hit in ordered for passage in _body(hit.chunk.own_passages)]
    share = int(token_budget * SECTION_SHARE)
    left_out = [each for each in offers if not context.offer(*each, share)]
    for passage, hit in (*left_out, *whole_blocks, *_repeated(ordered)):
        context.offer(passage, hit, token_budget)
    return _in_reading_order(
        context.kept(), {hit.chunk.chunk_id: hit.chunk.chunk_index for hit in hits}
    )


def context_of(chunks: Iterable[Chunk], count_tokens: Callable[[str], int]) -> list[ContextPassage]:
    """Return every paragraph of these chunks once, in reading order, headings included.

    A long paragraph may be several pieces: see `joined`.
    """
    return [
        _found_in(passage, Hit(chunk, 1.0), count_tokens(passage.text))
        for chunk, passage in pieces_of(chunks)
    ]


def whole_passage(chunks: Iterable[Chunk], paragraph_id: str) -> Passage | None:
    """Return the whole paragraph; None if it is in none of the chunks."""
    pieces = [one for _, one in pieces_of(chunks) if one.paragraph_id == paragraph_id]
    return joined(pieces) if pieces else None


def joined(pieces: Sequence[Passage]) -> Passage:
    """Return a paragraph from its pieces in reading order."""
    text = "".join([pieces[0].text, *starmap(_continuation, pairwise(pieces))])
    return replace(pieces[0], text=text, end=max(piece.end for piece in pieces))


def pieces_of(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Passage]]:
    """Yield the passages with their chunks, in reading order.

    A piece that repeats another piece of its paragraph or lies inside it (overlap) is left out.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.position, chunk.chunk_index))
    every = [(chunk, passage) for chunk in ordered for passage in chunk.passages]
    every.sort(key=lambda one: (one[0].position, one[1].start, -one[1].end))
    seen: set[tuple[str, Passage]] = set()
    reached: dict[tuple[str, str | int], Passage] = {}
    for chunk, piece in every:
        paragraph = (chunk.file, piece.paragraph_id or piece.start)
        outer = reached.setdefault(paragraph, piece)
        # Different pieces of an included file all have the span of the directive that includes it.
        inside = piece.end <= outer.end and not _same_span(outer, piece)
        if inside or (chunk.file, piece) in seen:
            continue
        seen.add((chunk.file, piece))
        if piece.end > outer.end:
            reached[paragraph] = piece
        yield chunk, piece


def _repeated(hits: Sequence[Hit]) -> Iterator[tuple[Passage, Hit]]:
    """Yield the overlap from other sections, with a lower score.

    If that text is relevant, the chunk of its section is a hit too.
    """
    for hit in hits:
        lower = replace(hit, score=hit.score * REPEATED_WEIGHT)
        for passage in _body(hit.chunk.passages[: -len(hit.chunk.own_passages)]):
            yield passage, lower


def _body(passages: Iterable[Passage]) -> list[Passage]:
    return [passage for passage in passages if passage.kind is not BlockKind.HEADING]


def _by_score(hit: Hit) -> tuple[float, str, int, int, str]:
    chunk = hit.chunk
    return (-hit.score, chunk.book, chunk.position, chunk.chunk_index, chunk.chunk_id)


def _in_reading_order(
    passages: Iterable[ContextPassage], chunk_index: Mapping[str, int]
) -> tuple[ContextPassage, ...]:
    """Sort by section, span and chunk; all parts of an included text have the same span."""
    listed = list(passages)
    best: dict[_Section, float] = {}
    for one in listed:
        best[_section(one)] = max(one.score, best.get(_section(one), 0.0))

    def key(one: ContextPassage) -> tuple[float, _Section, int, int, int]:
        first_chunk = min(chunk_index[chunk_id] for chunk_id in one.chunk_ids)
        position = (one.passage.start, one.passage.end, first_chunk)
        return (-best[_section(one)], _section(one), *position)

    return tuple(sorted(listed, key=key))


def _section(one: ContextPassage) -> _Section:
    return (one.book, one.file, one.passage.heading_path)


def _part_boundaries(hits: Sequence[Hit]) -> frozenset[tuple[str, str, int, int]]:
    """Return (book, file, end, start) of each two consecutive parts of a paragraph."""
    return frozenset(
        (hit.chunk.book, hit.chunk.file, piece.end, following.start)
        for hit in hits
        for piece, following in pairwise(hit.chunk.passages)
        if piece.paragraph_id == following.paragraph_id
    )


@dataclass(slots=True)
class _Context:
    """Passages kept so far, by paragraph; those of a paragraph never overlap."""

    budget: int
    count_tokens: Callable[[str], int]
    boundaries: frozenset[tuple[str, str, int, int]]
    used: int = 0
    by_paragraph: dict[tuple[str, str, str], list[ContextPassage]] = field(default_factory=dict)
    by_section: dict[_Section, int] = field(default_factory=dict)

    def kept(self) -> Iterable[ContextPassage]:
        return (one for passages in self.by_paragraph.values() for one in passages)

    def offer(self, passage: Passage, hit: Hit, section_budget: int) -> bool:
        """Keep the passage if it fits both budgets; return whether it is in the context."""
        place = (hit.chunk.book, hit.chunk.file, passage.paragraph_id)
        kept = self.by_paragraph.setdefault(place, [])
        for at, holder in enumerate(kept):
            if _contains(holder.passage, passage):
                kept[at] = replace(
                    holder,
                    score=max(holder.score, hit.score),
                    chunk_ids=_joined(holder.chunk_ids, (hit.chunk.chunk_id,)),
                )
                return True
        related = [one for one in kept if self._related(one, passage)]
        merged = self._merge(passage, hit, related)
        if merged is None or not self._fits(merged, related, section_budget):
            return False
        kept[:] = sorted(
            [*(one for one in kept if one not in related), merged],
            key=lambda one: one.passage.start,
        )
        return True

    def _fits(
        self, merged: ContextPassage, replaced: Sequence[ContextPassage], section_budget: int
    ) -> bool:
        """Count the passage to the budgets if it fits both."""
        growth = merged.tokens - sum(one.tokens for one in replaced)
        section = _section(merged)
        before = self.by_section.get(section, 0)
        in_section = before + growth
        # The first passage of a section may exceed the section's share: it may be the best one.
        if self.used + growth > self.budget or (before and in_section > section_budget):
            return False
        self.by_section[section] = in_section
        self.used += growth
        return True

    def _related(self, one: ContextPassage, other: Passage) -> bool:
        """Whether two parts of a paragraph overlap or are adjacent."""
        first, second = sorted((one.passage, other), key=lambda piece: piece.start)
        if _same_span(first, second):
            return first.text in second.text or second.text in first.text
        boundary = (one.book, one.file, first.end, second.start)
        return second.start - first.end <= 1 or boundary in self.boundaries

    def _merge(
        self, passage: Passage, hit: Hit, related: Sequence[ContextPassage]
    ) -> ContextPassage | None:
        """Merge all into one passage; None if the text of their overlap is not known."""
        for one in related:
            joined = _union(one.passage, passage)
            if joined is None:
                return None
            passage = joined
        merged = _found_in(passage, hit, self.count_tokens(passage.text))
        for one in related:
            merged = replace(
                merged,
                section=one.section,
                score=max(one.score, merged.score),
                chunk_ids=_joined(one.chunk_ids, merged.chunk_ids),
            )
        return merged


def _found_in(passage: Passage, hit: Hit, tokens: int) -> ContextPassage:
    return ContextPassage(
        passage=passage,
        book=hit.chunk.book,
        file=hit.chunk.file,
        section=passage.heading_path[-1] if passage.heading_path else hit.chunk.section,
        score=hit.score,
        chunk_ids=(hit.chunk.chunk_id,),
        tokens=tokens,
    )


def _joined(ids: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids + more))


def _same_span(one: Passage, other: Passage) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def _contains(outer: Passage, inner: Passage) -> bool:
    """Whether `inner` is part of `outer`, a part of the same paragraph.

    Parts of included text all have the directive's span or an empty one. So equal spans are
    compared by text.
    """
    if _same_span(outer, inner):
        return inner.text in outer.text
    return inner.start < inner.end and outer.start <= inner.start and inner.end <= outer.end


def _joint(first: Passage, second: Passage) -> str:
    """Return the blank between two parts of a paragraph: a line end next to code or a table."""
    has_block = any(
        is_fence_or_table(line) for one in (first, second) for line in whole_lines(one.text)
    )
    return " " if first.kind in _RUNNING_TEXT and not has_block else "\n"


def _union(one: Passage, other: Passage) -> Passage | None:
    if _contains(other, one):
        return other
    first, second = sorted((one, other), key=lambda piece: piece.start)
    verbatim = first.verbatim and second.verbatim and second.start <= first.end
    if second.start < first.end and not verbatim:
        return None
    return replace(
        first,
        text=first.text + _continuation(first, second),
        end=second.end,
        terms=tuple(dict.fromkeys(first.terms + second.terms)),
        verbatim=verbatim,
    )


def _continuation(first: Passage, second: Passage) -> str:
    """Return what a piece of a paragraph adds to the text of the one before it."""
    overlap = first.end - second.start
    if first.verbatim and second.verbatim and overlap >= 0:
        return second.text[overlap:]
    return _joint(first, second) + second.text
