"""The context assembler: by examples, and over the sample book for any hits and budget."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

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
from app.domain.retrieval.context_assembly import assemble, context_of, whole_passage
from app.domain.retrieval.query import ContextPassage, Hit
from app.services.ingest_plan import IngestRequest
from tests.made_chunks import count_words, made_chunk, made_passage
from tests.markdown_pages import identified


def passage(
    text: str, start: int, paragraph: str = "", *, section: str = "Intro", **fields: Any
) -> Passage:
    path = ("Page", section)
    return made_passage(text, paragraph or f"p-{start}", start=start, heading_path=path, **fields)


def chunk(*passages: Passage, index: int = 0, file: str = "a.md", book: str = "book") -> Chunk:
    name = f"{file}-{index}-{passages[0].start}"
    return made_chunk(*passages, chunk_id=name, book=BookId(book), chunk_index=index, file=file)


def texts(context: Sequence[ContextPassage]) -> list[str]:
    return [one.passage.text for one in context]


ONE = passage("one two three", 0)
FOUR = passage("four five", 20)


def parts(*texts: str, kind: BlockKind = BlockKind.PARAGRAPH) -> list[Passage]:
    """Parts of one paragraph, with a blank between them."""
    starts = [len("".join(texts[:at])) + at for at in range(len(texts))]
    return [
        passage(text, start, "p", kind=kind, offset=start)
        for text, start in zip(texts, starts, strict=True)
    ]


def test_parts_of_a_paragraph_that_follow_each_other_become_one_passage() -> None:
    a, b, c = parts("A b.", "C d.", "E f.")
    context = assemble([Hit(chunk(a, b), 0.9), Hit(chunk(b, c, index=1), 0.8)], 100, count_words)
    assert texts(context) == ["A b. C d. E f."]
    assert (context[0].passage.start, context[0].passage.end) == (0, 14)


def test_rows_that_follow_each_other_are_lines_and_others_stay_apart() -> None:
    rows = parts("r 1", "r 2", "r 3", kind=BlockKind.TABLE)
    hits = [Hit(chunk(row, index=index), 1 - index / 9) for index, row in enumerate(rows)]
    assert texts(assemble(hits, 100, count_words)) == ["r 1\nr 2\nr 3"]
    assert texts(assemble([hits[0], hits[2]], 100, count_words)) == ["r 1", "r 3"]


def test_parts_of_a_quote_are_joined_by_a_line_end_next_to_code() -> None:
    hits = [
        Hit(chunk(part, index=index), 0.5)
        for index, part in enumerate(parts("Do:", "```sh\nmake\n```", kind=BlockKind.QUOTE))
    ]
    assert texts(assemble(hits, 99, count_words)) == ["Do:\n```sh\nmake\n```"]


def test_a_table_s_header_is_repeated_by_its_rows_only_where_it_is_not_there_itself() -> None:
    first, second, third = parts("Word | n", "a | 1", "b | 2", kind=BlockKind.TABLE)
    repeating = [
        replace(row, text=f"Word | n\n{row.text}", lead=len("Word | n\n"))
        for row in (second, third)
    ]
    hits = [Hit(chunk(row, index=index), 0.5) for index, row in enumerate([first, *repeating])]
    assert texts(assemble(hits, 99, count_words)) == ["Word | n\na | 1\nb | 2"]
    assert texts(assemble(hits[1:], 99, count_words)) == ["Word | n\na | 1\nb | 2"]
    assert texts(assemble(hits[2:], 99, count_words)) == ["Word | n\nb | 2"]


def test_a_passage_that_does_not_fit_is_left_out_whole_and_a_smaller_one_still_taken() -> None:
    long = passage("w " * 50, 100, kind=BlockKind.CODE)
    context = assemble([Hit(chunk(ONE, long, FOUR), 1.0)], 10, count_words)
    assert texts(context) == ["one two three", "four five"]


@pytest.mark.parametrize("end", [80, 120], ids=["an empty span", "the directive's span"])
def test_paragraphs_of_one_include_are_all_kept_though_one_says_what_another_does(end: int) -> None:
    short = passage("Run it.", 80, "p-short", end=end)
    long = passage("Run it. Then look.", 80, "p-long", end=end)
    code = passage("Run it.", 80, "p-code", end=end, kind=BlockKind.CODE)
    for hits in ([Hit(chunk(long, short, code), 0.9)], [Hit(chunk(short, code, long), 0.9)]):
        kept = assemble(hits, 100, count_words)
        assert {one.passage for one in kept} == {short, long, code}


def test_sections_stay_together_in_reading_order_and_the_best_comes_first() -> None:
    hits = [
        Hit(chunk(passage("b", 20, section="B"), passage("a", 0, section="A")), 0.5),
        Hit(chunk(passage("d", 40, section="B"), index=1), 0.9),
    ]
    assert texts(assemble(hits, 100, count_words)) == ["b", "d", "a"]


def test_headings_are_left_out() -> None:
    title = passage("Intro", 0, kind=BlockKind.HEADING)
    assert texts(assemble([Hit(chunk(title, FOUR), 1.0)], 100, count_words)) == ["four five"]


def test_the_same_place_in_two_books_or_files_is_two_passages() -> None:
    hits = [
        Hit(chunk(ONE, file=file, book=book), 0.5)
        for book, file in (("x", "a.md"), ("x", "b.md"), ("y", "a.md"))
    ]
    assert len(assemble(hits, 100, count_words)) == 3


def test_each_paragraph_of_chunks_is_there_once_in_reading_order() -> None:
    first, second = parts("a = 1", "b = 2", kind=BlockKind.CODE)
    after = passage("It is two.", 40, "p-b")
    chunks = [chunk(ONE, first), chunk(first, second, after, index=1)]
    found = context_of(reversed(chunks), count_words)
    assert texts(found) == ["one two three", "a = 1\nb = 2", "It is two."]
    whole = whole_passage(chunks, "p")
    assert whole is not None
    assert whole.text == "a = 1\nb = 2"


def test_parts_of_a_paragraph_that_overlap_are_one_text() -> None:
    text = "one two three four"
    first = passage(text[:13], 0, "p-a")
    second = passage(text[8:], 8, "p-a", offset=8)
    inside = passage(text[8:13], 8, "p-a", offset=8)
    chunks = [chunk(first), chunk(inside, second, index=1)]
    assert texts(context_of(chunks, count_words)) == [text]
    whole = whole_passage(chunks, "p-a")
    assert whole is not None
    assert (whole.text, whole.end) == (text, len(text))
    assert whole_passage(chunks, "p-b") is None


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


def assembled(search: Search) -> tuple[ContextPassage, ...]:
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
    for one in assembled((hits, 1_000_000)):
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
    assert assembled((backwards, budget)) == context


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
    context = assembled(search)
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
    context = assembled((hits, 1_000_000))
    for hit in hits:
        for passage in offered([hit]):
            assert is_there(passage, hit.chunk.file, context)
