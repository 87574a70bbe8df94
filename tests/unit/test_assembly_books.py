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
from app.bootstrap.ingesting import chunk_book
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import StrategyName
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import assemble
from app.domain.retrieval.query import ContextPassage, Hit
from app.services.ingest import IngestRequest
from tests.markdown_pages import identified

Search: TypeAlias = tuple[list[Hit], int]
"""The hits, and the budget of the context."""
Context: TypeAlias = Sequence[ContextPassage]

STRATEGIES = (StrategyName.STRUCTURE, StrategyName.FIXED, StrategyName.RECURSIVE)


@dataclass(frozen=True)
class Chunked:
    chunks: Mapping[StrategyName, Sequence[Chunk]]
    """By strategy."""
    blocks: Mapping[str, str]
    """Paragraph id to the text that a reader sees."""


@cache
def chunked() -> Chunked:
    request = IngestRequest(SAMPLE_BOOK, book=BookId("sample"))
    book = identified(read_source(request))
    made = {name: list(chunk_book(book, replace(request, strategy=name))) for name in STRATEGIES}
    return Chunked(made, {block.paragraph_id: block.text for block in book.blocks()})


@cache
def count_tokens() -> Callable[[str], int]:
    return cache(token_counter())


@st.composite
def searches(draw: st.DrawFn) -> Search:
    """Any hits, most of them near each other as in a real search, and a budget."""
    chunks = chunked().chunks[draw(st.sampled_from(STRATEGIES))]
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
        for passage in hit.chunk.own_passages
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


def each_passage_has_the_best_score_of_the_hits_that_brought_it(
    search: Search, context: Context
) -> None:
    hits, _ = search
    for one in context_of((hits, 1_000_000)):
        bringing = [
            hit.score
            for hit in hits
            for held in offered([hit])
            if held.paragraph_id == one.passage.paragraph_id
            and held.offset < one.passage.stop
            and one.passage.offset < held.stop
        ]
        assert one.score == max(bringing)


def the_order_of_the_hits_does_not_matter(search: Search, context: Context) -> None:
    hits, budget = search
    backwards = sorted(hits, key=lambda hit: hit.chunk.chunk_id, reverse=True)
    assert context_of((backwards, budget)) == context


PROPERTIES = (
    no_character_of_the_book_comes_twice,
    nothing_is_in_the_context_that_is_not_in_its_paragraph,
    tokens_are_counted_exactly_and_stay_within_the_budget,
    each_passage_has_the_best_score_of_the_hits_that_brought_it,
    the_order_of_the_hits_does_not_matter,
)


@settings(max_examples=40)
@given(searches())
def test_every_property_holds_of_the_context_of_any_search(search: Search) -> None:
    context = context_of(search)
    for holds in PROPERTIES:
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
def test_with_budget_enough_every_hit_is_there_whole(strategy: StrategyName) -> None:
    chunks = chunked().chunks[strategy]
    hits = [Hit(one, 1 / (1 + at)) for at, one in enumerate(chunks)]
    context = context_of((hits, 1_000_000))
    for hit in hits:
        for passage in offered([hit]):
            assert is_there(passage, hit.chunk.file, context)
