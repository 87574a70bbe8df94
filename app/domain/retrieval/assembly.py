"""The context: hits cut back into paragraphs, each source character once, within a token budget.

Passages are taken hit by hit, best first, and merged by source interval: what a kept passage
already holds is not taken again, a passage that holds kept pieces takes their place, and pieces of
one paragraph that follow on each other become one. A passage is taken whole or not at all. Where
room is left, the rest of a list, a table or an exercise follows of which a hit has only a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage, Hit

_Section: TypeAlias = tuple[str, str, tuple[str, ...]]

SECTION_SHARE = 0.5
"""Of the budget, what one section may use beyond its first passage while other sections wait."""

COMPLETED = frozenset(
    {
        BlockKind.LIST,
        BlockKind.TABLE,
        BlockKind.EXERCISE,
        BlockKind.SOLUTION,
        BlockKind.ADMONITION,
        BlockKind.CODE,
    }
)
"""Kinds whose part may say little without the rest."""

_RUNNING_TEXT = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTE, BlockKind.FOOTNOTE})


def may_be_parts(chunk: Chunk) -> tuple[Passage, ...]:
    """The passages of the chunk that may go on in the chunk before it or after it."""
    ends = {passage.start: passage for passage in (chunk.passages[:1] + chunk.passages[-1:])}
    return tuple(passage for passage in ends.values() if passage.kind in COMPLETED)


def assemble(
    hits: Sequence[Hit],
    token_budget: int,
    count_tokens: Callable[[str], int],
    wholes: Sequence[tuple[Passage, Hit]] = (),
) -> tuple[ContextPassage, ...]:
    """Return the passages of `hits` that fit, in reading order within a section.

    `wholes` are blocks of which a hit has a part, each with that hit: they take the parts' places
    if the budget allows.

    Sections (of one file, by heading path) come by their best hit. The sum of `tokens` over the
    result is at most `token_budget`, counted over the passages' own text. The order of `hits`
    does not matter, only their scores. Headings are left out: the heading path carries them.
    """
    ordered = sorted(hits, key=_by_score)
    context = _Context(token_budget, count_tokens, _joints(ordered))
    offers = [
        (passage, hit)
        for hit in ordered
        for passage in hit.chunk.passages
        if passage.kind is not BlockKind.HEADING
    ]
    share = int(token_budget * SECTION_SHARE)
    left_out = [each for each in offers if not context.offer(*each, share)]
    for passage, hit in (*left_out, *wholes):
        context.offer(passage, hit, token_budget)
    return _in_reading_order(
        context.kept(), {hit.chunk.chunk_id: hit.chunk.chunk_index for hit in hits}
    )


def _by_score(hit: Hit) -> tuple[float, str, int, int, str]:
    chunk = hit.chunk
    return (-hit.score, chunk.book, chunk.position, chunk.chunk_index, chunk.chunk_id)


def _in_reading_order(
    passages: Iterable[ContextPassage], chunk_index: Mapping[str, int]
) -> tuple[ContextPassage, ...]:
    """Text that an include pulled in has one place for all its pieces: chunks tell their order."""
    listed = list(passages)
    best: dict[_Section, float] = {}
    for one in listed:
        best[_section(one)] = max(one.score, best.get(_section(one), 0.0))

    def key(one: ContextPassage) -> tuple[float, _Section, int, int, int]:
        first_chunk = min(chunk_index[chunk_id] for chunk_id in one.chunk_ids)
        place = (one.passage.start, one.passage.end, first_chunk)
        return (-best[_section(one)], _section(one), *place)

    return tuple(sorted(listed, key=key))


def _section(one: ContextPassage) -> _Section:
    return (one.book, one.file, one.passage.heading_path)


def _joints(hits: Sequence[Hit]) -> frozenset[tuple[str, str, int, int]]:
    """Return (book, file, end, start) where a piece of a paragraph ends and its next one starts."""
    return frozenset(
        (hit.chunk.book, hit.chunk.file, piece.end, following.start)
        for hit in hits
        for piece, following in pairwise(hit.chunk.passages)
        if piece.paragraph_id == following.paragraph_id
    )


@dataclass(slots=True)
class _Context:
    """What has been kept so far, by file; passages of a file never overlap."""

    budget: int
    count_tokens: Callable[[str], int]
    joints: frozenset[tuple[str, str, int, int]]
    used: int = 0
    by_file: dict[tuple[str, str], list[ContextPassage]] = field(default_factory=dict)
    by_section: dict[_Section, int] = field(default_factory=dict)

    def kept(self) -> Iterable[ContextPassage]:
        return (one for passages in self.by_file.values() for one in passages)

    def offer(self, passage: Passage, hit: Hit, section_budget: int) -> bool:
        """Keep what is new of the passage, if it fits both budgets; tell whether it is kept now."""
        offered = _offered(passage, hit)
        kept = self.by_file.setdefault((hit.chunk.book, hit.chunk.file), [])
        for at, holder in enumerate(kept):
            if _holds(holder.passage, passage):
                kept[at] = _brought_by(holder, offered)
                return True
        related = [one for one in kept if self._related(one, offered)]
        merged = self._merge(offered, related)
        if merged is None:
            return False
        growth = merged.tokens - sum(one.tokens for one in related)
        before = self.by_section.get(_section(merged), 0)
        in_section = before + growth
        # A share too small for even one paragraph must not keep the best one out.
        if self.used + growth > self.budget or (before and in_section > section_budget):
            return False
        self.by_file[(hit.chunk.book, hit.chunk.file)] = sorted(
            [one for one in kept if one not in related] + [merged],
            key=lambda one: one.passage.start,
        )
        self.by_section[_section(merged)] = in_section
        self.used += growth
        return True

    def _related(self, one: ContextPassage, other: ContextPassage) -> bool:
        """Whether the two are pieces of one paragraph that overlap or have nothing between them."""
        if one.passage.paragraph_id != other.passage.paragraph_id:
            return False
        first, second = sorted((one.passage, other.passage), key=lambda piece: piece.start)
        if _same_place(first, second):
            return first.text in second.text or second.text in first.text
        if second.start < first.end:
            return True
        joint = (one.book, one.file, first.end, second.start)
        return second.start - first.end <= 1 or joint in self.joints

    def _merge(
        self, offered: ContextPassage, related: Sequence[ContextPassage]
    ) -> ContextPassage | None:
        """One passage out of all; None if they overlap in a way that no text can be made for."""
        merged: ContextPassage = offered
        for one in related:
            passage = _union(one.passage, merged.passage)
            if passage is None:
                return None
            merged = replace(_brought_by(one, merged), passage=passage)
        return replace(merged, tokens=self.count_tokens(merged.passage.text))


def _offered(passage: Passage, hit: Hit) -> ContextPassage:
    return ContextPassage(
        passage=passage,
        book=hit.chunk.book,
        file=hit.chunk.file,
        chapter=hit.chunk.chapter,
        section=passage.heading_path[-1] if passage.heading_path else hit.chunk.section,
        score=hit.score,
        chunk_ids=(hit.chunk.chunk_id,),
        tokens=0,
    )


def _brought_by(one: ContextPassage, other: ContextPassage) -> ContextPassage:
    return replace(
        one,
        score=max(one.score, other.score),
        chunk_ids=tuple(dict.fromkeys(one.chunk_ids + other.chunk_ids)),
    )


def _same_place(one: Passage, other: Passage) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def _holds(outer: Passage, inner: Passage) -> bool:
    """Text from an included file has the directive's span, or an empty one, for every piece.

    So paragraphs that came with one include stand at one place, whatever their texts share.
    """
    if outer.paragraph_id != inner.paragraph_id:
        return False
    if _same_place(outer, inner):
        return inner.text in outer.text
    return inner.start < inner.end and outer.start <= inner.start and inner.end <= outer.end


def _union(one: Passage, other: Passage) -> Passage | None:
    if _holds(other, one):
        return other
    first, second = sorted((one, other), key=lambda piece: piece.start)
    overlap = first.end - second.start
    if first.verbatim and second.verbatim and overlap >= 0:
        text = first.text + second.text[overlap:]
    elif overlap <= 0:
        text = first.text + (" " if first.kind in _RUNNING_TEXT else "\n") + second.text
    else:
        return None
    return replace(
        first,
        text=text,
        end=second.end,
        terms=tuple(dict.fromkeys(first.terms + second.terms)),
        verbatim=first.verbatim and second.verbatim and overlap >= 0,
    )
