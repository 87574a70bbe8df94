"""What both stores do alike: one suite, run against the embedded engine and the client's."""

import json
from dataclasses import replace
from typing import Any, TypeVar, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.qdrant.payload import from_payload, to_payload
from app.domain.book_id import PATTERN, BookId, is_book_id
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind, Figure, Span
from app.domain.errors import BookNotFound, IndexBusy, InputError, StorageError
from app.domain.indexed_book import IndexPoint
from app.domain.retrieval.context_assembly import whole_passage
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector
from app.services.ports import BookStore
from tests.index_points import (
    DIMENSION,
    chunk,
    chunk_id,
    ids,
    manifest,
    passage,
    points,
    publish,
    stored,
    vector,
)
from tests.index_stores import ALL, fails, found, only

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

T = TypeVar("T")
ONE = only("book")


async def test_an_empty_index_has_no_books_and_finds_nothing(index: BookStore) -> None:
    await index.check()
    assert not await index.books()
    assert await index.search(vector(1.0), None, 5, ALL) == Candidates()
    with pytest.raises(BookNotFound):
        await index.snapshot(BookId("book"))
    await fails(BookNotFound, index.fetch({BookId("book"): []}), "'book'")
    await fails(BookNotFound, index.matching(ONE), "'book'")
    await fails(BookNotFound, index.remove(BookId("book")), "'book'")
    await fails(BookNotFound, index.rollback(BookId("book")), "'book'")


async def test_chunks_of_several_books_are_fetched_together(index: BookStore) -> None:
    made = {name: points(name, range(9)) for name in ("a", "b", "c")}
    for name, one in made.items():
        await publish(index, name, one)
    await publish(index, "b", points("b", range(20, 25)))
    wanted = {
        BookId("c"): [chunk_id("c", 8), chunk_id("c", 1)],
        BookId("b"): [chunk_id("b", 3), chunk_id("a", 1), chunk_id("b", 21)],
    }
    expected = [("c", 8), ("c", 1), ("b", 3), ("b", 21)]
    found = await index.fetch(wanted)
    assert [(one.book, one.chunk_index) for one in found] == expected
    assert await index.fetch({}) == []


async def test_a_published_book_is_listed_and_gives_its_chunks_back(index: BookStore) -> None:
    made = points("book", range(20))
    published = await publish(index, "book", made)
    assert published.generation == 1
    assert [*(await index.books()).values()] == [published]
    assert replace(published, generation=0, size_bytes=0) == manifest("book", 20)
    chunks = [point.chunk for point in made]
    assert await index.matching(ONE) == sorted(chunks, key=lambda one: one.chunk_id)
    asked = [chunks[7].chunk_id, chunk_id("other", 1), chunks[3].chunk_id]
    assert await index.fetch({BookId("book"): asked}) == [chunks[7], chunks[3]]
    await index.check()


async def test_points_come_in_pages_in_reading_order_with_vectors_of_length_one(
    index: BookStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.adapters.qdrant.edge_generation.PAGE", 40)
    monkeypatch.setattr("app.adapters.qdrant.server.BATCH", 40)
    made = points("book", range(100))
    made[7] = replace(made[7], sparse=SparseVector((), ()))
    await publish(index, "book", made)
    got = await stored(index)
    made.sort(key=lambda point: (point.chunk.position, point.chunk.chunk_index))
    assert [point.chunk for point in got] == [point.chunk for point in made]
    for one, other in zip(got[7::20], made[7::20], strict=True):
        length = sum(value * value for value in other.dense) ** 0.5
        assert list(one.dense) == pytest.approx([x / length for x in other.dense], abs=1e-6)
        assert one.sparse.indices == other.sparse.indices
        assert one.sparse.values == pytest.approx(other.sparse.values)


async def test_readers_see_nothing_of_a_generation_before_it_is_published(index: BookStore) -> None:
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", range(3)))
    assert not await index.books()
    await fails(BookNotFound, index.matching(ONE))
    await writer.publish(manifest("book", 3))
    old = await found(index)
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", range(3, 9)))
    assert await found(index) == old
    await writer.publish(manifest("book", 6))
    assert await found(index) == ids(*range(3, 9))


async def test_a_question_begun_before_a_switch_gets_its_chunks(index: BookStore) -> None:
    await publish(index, "book", points("book", range(4)))
    before = await index.search(vector(*[1.0] * DIMENSION), None, 4, ALL)
    await publish(index, "book", points("book", range(2, 9), version="v2"))
    ids = [hit.chunk_id for hit in before.dense]
    chunks = await index.fetch({BookId("book"): ids})
    assert [one.chunk_id for one in chunks] == ids
    versions = {one.chunk_index: one.book_version for one in chunks}
    assert versions == {0: "v1", 1: "v1", 2: "v2", 3: "v2"}


async def test_rollback_goes_to_the_generation_before_and_forth_again(index: BookStore) -> None:
    await publish(index, "book", points("book", [1]))
    await fails(InputError, index.rollback(BookId("book")), "'book'")
    await publish(index, "book", points("book", [2]))
    await publish(index, "book", points("book", [3]))
    assert (await index.rollback(BookId("book"))).generation == 2
    assert await found(index) == ids(2)
    assert [one.generation for one in (await index.books()).named()] == [2]
    assert (await index.rollback(BookId("book"))).generation == 3
    assert await found(index) == ids(3)
    assert (await index.rollback(BookId("book"))).generation == 2
    assert (await publish(index, "book", points("book", [4]))).generation == 4
    assert (await index.rollback(BookId("book"))).generation == 2


async def test_a_wrong_count_is_not_published_and_the_old_book_stays(index: BookStore) -> None:
    await publish(index, "book", points("book", [1]))
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [2, 3, 3]))
    await fails(StorageError, writer.publish(manifest("book", 3)), "2 ", "not published")
    await writer.abandon()
    assert await found(index) == ids(1)
    assert (await publish(index, "book", points("book", [4]))).generation == 2


async def test_an_abandoned_generation_leaves_the_book_as_it_was(index: BookStore) -> None:
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [1]))
    await writer.abandon()
    await writer.abandon()
    assert not await index.books()
    writer = await index.begin(BookId("book"), DIMENSION)
    await writer.write(points("book", [2]))
    await writer.publish(manifest("book", 1))
    await writer.abandon()
    assert await found(index) == ids(2)


async def test_a_second_writer_is_refused_with_the_name_of_the_first(index: BookStore) -> None:
    await publish(index, "book", points("book", [1]))
    await publish(index, "book", points("book", [2]))
    writer = await index.begin(BookId("book"), DIMENSION)
    for call in (
        index.begin(BookId("book"), DIMENSION),
        index.rollback(BookId("book")),
        index.remove(BookId("book")),
    ):
        await fails(IndexBusy, call, "'book'", "process ", "started 20")
    other = await index.begin(BookId("other"), DIMENSION)
    await other.abandon()
    await writer.abandon()
    await (await index.begin(BookId("book"), DIMENSION)).abandon()


async def test_a_removed_book_is_gone_and_may_come_back(index: BookStore) -> None:
    for book in ("book", "other"):
        await publish(index, book, points(book, [1]))
    await publish(index, "book", points("book", [2]))
    await index.remove(BookId("book"))
    assert [*await index.books()] == ["other"]
    assert await found(index) == {chunk_id("other", 1)}
    await fails(BookNotFound, index.matching(ONE))
    await publish(index, "book", points("book", [5]))
    assert await found(index, only("book")) == ids(5)


async def test_what_was_published_has_no_faults(index: BookStore) -> None:
    book = BookId("book")
    for call in (index.faults(book), index.faults(book, previous=True)):
        with pytest.raises(BookNotFound):
            await call
    await publish(index, "book", points("book", [1, 2]))
    await publish(index, "book", points("book", [2, 3]))
    assert await index.faults(book) == await index.faults(book, previous=True) == []
    assert (await index.rollback(book)).generation == 1
    assert await index.faults(book) == []
    await index.check()
    assert await index.damaged() == {}


async def test_a_chunk_without_terms_or_with_a_zero_vector_is_stored(index: BookStore) -> None:
    empty = IndexPoint(chunk("book", 1), vector(*[0.0] * DIMENSION), SparseVector((), ()))
    await publish(index, "book", [empty, *points("book", [2])])
    assert await index.fetch({BookId("book"): [chunk_id("book", 1)]}) == [empty.chunk]
    assert len(await found(index)) == 2


async def test_a_paragraph_is_found_whole_in_its_book(index: BookStore) -> None:
    first = passage("p-split", "First sentence.", 0)
    second = passage("p-split", "Second one.", 16)
    third = passage("p-split", "Third.", 28)

    made = points("book", [1, 6])
    made[0] = replace(made[0], chunk=chunk("book", 1, [first, second]))
    # Chunk 6 is of the file of chunk 1.
    made[1] = replace(made[1], chunk=chunk("book", 6, [second, third]))
    await publish(index, "book", made)
    await publish(index, "other", points("other", [7]))

    async def paragraph(name: str, book: str) -> Passage | None:
        wanted = SearchFilter(books=(BookId(book),), paragraph_ids=(name,))
        return whole_passage(await index.matching(wanted), name)

    expected = replace(first, text="First sentence. Second one. Third.", end=34)
    assert await paragraph("p-split", "book") == expected
    assert await paragraph("p-split", "other") is None
    assert await paragraph("p-other-7", "other") == chunk("other", 7).passages[0]


# Every text a UTF-8 file can hold: no lone surrogates.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
number = st.integers(0, 2**53)
OF_TYPE: dict[object, st.SearchStrategy[Any]] = {
    str: text,
    int: number,
    BlockKind: st.sampled_from(BlockKind),
    BookId: st.from_regex(PATTERN, fullmatch=True).filter(is_book_id).map(BookId),
    tuple[str, ...]: st.lists(text, max_size=3).map(tuple),
    tuple[Span, ...]: st.lists(st.tuples(number, number), max_size=3).map(tuple),
}


def every_field(kind: type[T], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    types = get_type_hints(kind).items()
    made = {name: OF_TYPE[of_type] for name, of_type in types if name not in given}
    return st.builds(kind, **made, **given)


passages = every_field(Passage, figure=st.none() | every_field(Figure))
chunks = every_field(
    Chunk, chunk_id=st.uuids().map(str), passages=st.lists(passages, max_size=3).map(tuple)
)


@given(chunks)
@settings(max_examples=50)
def test_a_chunk_survives_the_way_through_its_payload(one: Chunk) -> None:
    assert from_payload(json.loads(json.dumps(to_payload(one)))) == one


def test_a_payload_of_another_layout_is_a_clear_error() -> None:
    payload = to_payload(chunk("book", 1))
    payload["chunk"] = "{}"  # as an older program may have written it
    with pytest.raises(StorageError, match="ingest the book again"):
        from_payload(payload)
