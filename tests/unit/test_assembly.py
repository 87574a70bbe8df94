"""The context assembler, by examples; `test_assembly_books` has its properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import assemble, context_of, whole_passage
from app.domain.retrieval.query import ContextPassage, Hit
from tests.made_chunks import count_words, made_chunk, made_passage


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
