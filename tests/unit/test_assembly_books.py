"""The context assembler over the sample book as it is really chunked, for any hits and budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.tokens import token_counter
from app.bootstrap.books import SAMPLE_BOOK, read_source
from app.bootstrap.chunking import chunk_book
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import SECTION_SHARE, assemble
from app.domain.retrieval.query import ContextPassage, Hit
from app.services.ingest import IngestRequest

Section: TypeAlias = tuple[str, tuple[str, ...]]
Search: TypeAlias = tuple[list[Hit], int]
"""The hits, and the budget of the context."""
Context: TypeAlias = Sequence[ContextPassage]

STRATEGIES = ("structure", "fixed", "recursive")


@dataclass(frozen=True)
class Chunked:
    chunks: Mapping[str, Sequence[Chunk]]
    """By strategy."""
    blocks: Mapping[str, str]
    """Paragraph id to the text that a reader sees."""


@cache
def chunked() -> Chunked:
    request = IngestRequest(SAMPLE_BOOK, book=BookId("sample"))
    book = read_source(request)
    made = {name: list(chunk_book(book, replace(request, strategy=name))) for name in STRATEGIES}
    return Chunked(made, {block.paragraph_id: block.text for block in book.blocks()})


@cache
def count_tokens() -> Callable[[str], int]:
    return cache(token_counter())


@st.composite
def searches(draw: st.DrawFn, strategies: Sequence[str] = STRATEGIES) -> Search:
    """Any hits, most of them near each other as in a real search, and a budget."""
    chunks = chunked().chunks[draw(st.sampled_from(strategies))]
    first = draw(st.integers(0, len(chunks) - 1))
    near = chunks[first : first + 12]
    drawn = draw(
        st.lists(
            st.sampled_from(near) | st.sampled_from(chunks),
            min_size=1,
            max_size=10,
            unique_by=lambda one: one.chunk_id,
        )
    )
    score = st.sampled_from([0.1, 0.5, 0.5, 0.9])
    return [Hit(one, draw(score)) for one in drawn], draw(st.integers(0, 2_500))


def context_of(search: Search) -> tuple[ContextPassage, ...]:
    return assemble(search[0], search[1], count_tokens())


def offered(hits: Sequence[Hit]) -> list[Passage]:
    return [
        passage
        for hit in hits
        for passage in hit.chunk.passages
        if passage.kind is not BlockKind.HEADING
    ]


def squeezed(text: str) -> str:
    return "".join(text.split())


def no_character_of_the_book_comes_twice(search: Search, context: Context) -> None:
    by_paragraph: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in context:
        by_paragraph[one.passage.paragraph_id].append((one.passage.offset, one.passage.stop))
    for spans in by_paragraph.values():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            assert end <= start


def nothing_is_in_the_context_that_is_not_in_its_paragraph(
    search: Search, context: Context
) -> None:
    book = chunked()
    for one in context:
        passage = one.passage
        whole = book.blocks[passage.paragraph_id]
        assert squeezed(passage.own_text) == squeezed(whole[passage.offset : passage.stop])


def tokens_are_counted_exactly_and_stay_within_the_budget(search: Search, context: Context) -> None:
    assert [one.tokens for one in context] == [count_tokens()(one.passage.text) for one in context]
    assert sum(one.tokens for one in context) <= search[1]


def the_budget_cuts_no_sentence_code_or_table(search: Search, context: Context) -> None:
    """What a hit holds as one piece is in the context as one piece, or not at all."""
    pieces = [(one.paragraph_id, one.offset, one.stop) for one in offered(search[0])]
    starts = {(paragraph, start) for paragraph, start, _ in pieces}
    ends = {(paragraph, end) for paragraph, _, end in pieces}
    for one in context:
        here = one.passage
        assert (here.paragraph_id, here.offset) in starts
        assert (here.paragraph_id, here.stop) in ends
        for paragraph, start, end in pieces:
            apart = end <= here.offset or here.stop <= start
            inside = here.offset <= start and end <= here.stop
            around = start <= here.offset and here.stop <= end  # too big for the budget itself
            assert paragraph != here.paragraph_id or apart or inside or around


def each_passage_names_just_the_hits_that_brought_it_and_the_best_score(
    search: Search, context: Context
) -> None:
    hits, _ = search
    for one in context_of((hits, 1_000_000)):
        bringing = {
            hit.chunk.chunk_id: hit.score
            for hit in hits
            for held in offered([hit])
            if held.paragraph_id == one.passage.paragraph_id
            and held.offset < one.passage.stop
            and one.passage.offset < held.stop
        }
        best = max(bringing.values())
        assert set(one.chunk_ids) == set(bringing)
        assert one.score in (best, best / 2)  # half for what is repeated from another section


def the_order_of_the_hits_does_not_matter(search: Search, context: Context) -> None:
    hits, budget = search
    backwards = sorted(hits, key=lambda hit: hit.chunk.chunk_id, reverse=True)
    assert context_of((backwards, budget)) == context


def sections_stay_together_in_reading_order_and_the_best_comes_first(
    search: Search, context: Context
) -> None:
    sections: dict[Section, list[ContextPassage]] = {}
    for one in context:
        sections.setdefault((one.file, one.passage.heading_path), []).append(one)
    assert [one for group in sections.values() for one in group] == list(context)
    best = [max(one.score for one in group) for group in sections.values()]
    assert best == sorted(best, reverse=True)
    for group in sections.values():
        assert [one.passage.start for one in group] == sorted(one.passage.start for one in group)


def no_section_takes_more_than_its_share_from_a_passage_that_waits(
    search: Search, context: Context
) -> None:
    """Whatever was left out would not have fitted either had each section kept to its share.

    Overlap from another section waits for all others.
    """
    hits, budget = search
    share = int(budget * SECTION_SHARE)
    sizes: dict[Section, list[int]] = defaultdict(list)
    for one in context:
        sizes[one.file, one.passage.heading_path].append(one.tokens)
    # A section's first passage may be larger than the share.
    within_shares = sum(min(sum(some), max(share, *some)) for some in sizes.values())
    for hit in hits:
        for passage in set(offered([hit])) & {*hit.chunk.own_passages}:
            tokens = count_tokens()(passage.text)
            used = sum(sizes[hit.chunk.file, passage.heading_path])
            if not is_there(passage, hit.chunk.file, context) and used + tokens <= share:
                assert within_shares + tokens > budget


OF_ANY_STRATEGY = (
    no_character_of_the_book_comes_twice,
    nothing_is_in_the_context_that_is_not_in_its_paragraph,
    tokens_are_counted_exactly_and_stay_within_the_budget,
    each_passage_names_just_the_hits_that_brought_it_and_the_best_score,
    the_order_of_the_hits_does_not_matter,
    sections_stay_together_in_reading_order_and_the_best_comes_first,
)
OF_STRUCTURE = (
    the_budget_cuts_no_sentence_code_or_table,
    no_section_takes_more_than_its_share_from_a_passage_that_waits,
)


@pytest.mark.parametrize(
    ("strategies", "properties"), [(STRATEGIES, OF_ANY_STRATEGY), (("structure",), OF_STRUCTURE)]
)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_property_holds_of_the_context_of_any_search(
    strategies: Sequence[str],
    properties: Sequence[Callable[[Search, Context], None]],
    data: st.DataObject,
) -> None:
    search = data.draw(searches(strategies))
    context = context_of(search)
    for holds in properties:
        holds(search, context)


def is_there(passage: Passage, file: str, context: Sequence[ContextPassage]) -> bool:
    return any(
        one.file == file
        and one.passage.paragraph_id == passage.paragraph_id
        and one.passage.offset <= passage.offset
        and passage.stop <= one.passage.stop
        for one in context
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_budget_enough_every_hit_is_there_whole(strategy: str) -> None:
    chunks = chunked().chunks[strategy]
    hits = [Hit(one, 1 / (1 + at)) for at, one in enumerate(chunks)]
    context = context_of((hits, 1_000_000))
    for hit in hits:
        for passage in offered([hit]):
            assert is_there(passage, hit.chunk.file, context)
