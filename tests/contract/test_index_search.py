"""What both stores find, and with which scores: one suite, run against each."""

import random
from dataclasses import replace

import pytest

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.errors import BookNotFound
from app.domain.indexed_book import IndexPoint
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector
from app.services.ports import BookStore
from tests.index_points import (
    chunk,
    chunk_id,
    points,
    publish,
    random_sparse,
    random_vector,
    vector,
)
from tests.index_stores import ALL, OPENERS, URL, Opener, embedded, fails, found, only

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")


async def test_books_of_different_dimensions_live_side_by_side(index: BookStore) -> None:
    await publish(index, "small", points("small", range(3)))
    point = IndexPoint(chunk("large", 1), vector(*[0.5] * 16), SparseVector((1,), (1.0,)))
    await publish(index, "large", [point])
    query = vector(*[1.0] * 16)
    hits = (await index.search(query, None, 5, only("large"))).dense
    assert [(hit.book, hit.chunk_id) for hit in hits] == [("large", chunk_id("large", 1))]
    assert hits[0].score == pytest.approx(1.0, abs=1e-6)


FILTERS = {
    "file": SearchFilter(files=("docs/1.md",)),
    "files": SearchFilter(files=("docs/1.md", "docs/3.md")),
    "chapter": SearchFilter(chapters=("Chapter 2",)),
    "position": SearchFilter(max_position=1),
    "page": SearchFilter(pages=("/docs/2", "/docs/nowhere")),
    "kind of a passage": SearchFilter(kinds=(BlockKind.CODE, BlockKind.TABLE)),
    "paragraph": SearchFilter(paragraph_ids=("p-book-7", "p-book-9")),
    "all of them": SearchFilter(books=(BookId("book"),), kinds=(BlockKind.CODE,), max_position=3),
    "nothing": SearchFilter(files=("no such file",)),
}


def passes(filter: SearchFilter, one: Chunk) -> bool:
    return (
        (not filter.files or one.file in filter.files)
        and (not filter.chapters or one.chapter in filter.chapters)
        and (not filter.pages or one.file.removesuffix(".md") in {p[1:] for p in filter.pages})
        and (not filter.kinds or any(held.kind in filter.kinds for held in one.passages))
        and (not filter.paragraph_ids or one.paragraph_id in filter.paragraph_ids)
        and (filter.max_position is None or one.position <= filter.max_position)
    )


async def test_the_best_score_of_a_term_is_that_of_a_search_for_it(index: BookStore) -> None:
    made = points("a", range(12))
    await publish(index, "a", made)
    await publish(index, "b", points("b", range(12)))
    terms = [*made[0].sparse.indices, 4_000_000_001]
    every: tuple[tuple[BookId, ...], ...] = ((), (BookId("a"),), (BookId("b"),))
    for books in every:
        scope = SearchFilter(books=books)
        alone = [
            (await index.search(None, SparseVector((term,), (1.0,)), 1, scope)).sparse
            for term in terms
        ]
        expected = [hits[0].score if hits else 0.0 for hits in alone]
        assert await index.best_scores(terms, books) == pytest.approx(expected)
        assert expected[-1] == 0.0
    with pytest.raises(BookNotFound):
        await index.best_scores(terms, [BookId("missing")])


async def test_a_filter_lets_through_what_has_each_of_its_fields(index: BookStore) -> None:
    every_term = SparseVector(tuple(i * 107_374_182 for i in range(40)), (1.0,) * 40)

    made = points("book", range(60))
    await publish(index, "book", made)
    for name, asked in FILTERS.items():
        expected = {one.chunk.chunk_id for one in made if passes(asked, one.chunk)}
        assert await found(index, asked) == expected, name
        hits = (await index.search(None, every_term, 1_000, asked)).sparse
        assert {hit.chunk_id for hit in hits} == expected, name
        matching = await index.matching(asked)
        assert [one.chunk_id for one in matching] == sorted(expected), name


async def test_chunks_that_match_come_book_by_book(index: BookStore) -> None:
    for book in ("b", "a", "c"):
        await publish(index, book, points(book, range(12)))
    for books, expected in (("", "abc"), ("cac", "ac")):
        named = tuple(map(BookId, books))
        found = await index.matching(SearchFilter(books=named, files=("docs/1.md",)))
        assert [one.book for one in found] == [one for one in expected for _ in range(3)]
    await fails(BookNotFound, index.matching(only("d")), "'d'")


async def test_each_list_is_there_only_for_a_vector_that_was_given(index: BookStore) -> None:
    await publish(index, "book", points("book", range(5)))
    source = random.Random(2)
    dense, sparse = random_vector(source), random_sparse(source)
    assert not (await index.search(dense, None, 3, ALL)).sparse
    assert not (await index.search(None, sparse, 3, ALL)).dense
    assert await index.search(None, None, 3, ALL) == Candidates()
    assert await index.search(None, SparseVector((), ()), 3, ALL) == Candidates()
    unknown = SparseVector((3,), (1.0,))
    assert await index.search(None, unknown, 3, ALL) == Candidates()


QUERY_FILTERS = [ALL, only("book"), only("book", "third"), *FILTERS.values()]


@pytest.mark.parametrize("theirs", [name for name in OPENERS if "server" in name])
async def test_both_stores_find_the_same_chunks_with_the_same_scores(theirs: str) -> None:
    async def results(opener: Opener) -> list[Candidates]:
        source = random.Random(3)
        async with opener() as index:
            for book, count in (("book", 120), ("other", 40), ("third", 20)):
                made = points(book, range(count))
                # Chunks without a term must not count in the document frequencies of either.
                made[5] = replace(made[5], sparse=SparseVector((), ()))
                await publish(index, book, made)
            return [
                await index.search(random_vector(source), random_sparse(source), 20, asked)
                for asked in QUERY_FILTERS * 2
            ]

    others = await results(OPENERS[theirs])
    ours = await results(embedded)
    for a, b in zip(ours, others, strict=True):
        for mine, other in ((a.dense, b.dense), (a.sparse, b.sparse)):
            assert [hit.chunk_id for hit in mine] == [hit.chunk_id for hit in other]
            scores = [hit.score for hit in other]
            assert [hit.score for hit in mine] == pytest.approx(scores, abs=1e-5)
    assert sum(len(one.sparse) for one in ours) > 150


async def test_no_other_book_moves_a_score_by_a_bit(
    index: BookStore, request: pytest.FixtureRequest
) -> None:
    """Nor does it change which chunks are found, whether it is added, replaced or removed.

    In a cluster either copy of a point may answer, and each adds up the terms in its own order. The
    client's engine multiplies matrices, whose rounding depends on the place of a row in memory.
    """
    name = request.node.name
    tolerance = 1e-5 if "," in URL and "real" in name else 1e-6 if name.endswith("[server]") else 0

    source = random.Random(5)
    queries = [(random_vector(source), random_sparse(source)) for _ in range(8)]
    alone = only("a")

    async def answers() -> dict[tuple[int, str, str], float]:
        return {
            (number, kind, hit.chunk_id): hit.score
            for number, query in enumerate(queries)
            for found in [await index.search(*query, 20, alone)]
            for kind, hits in (("dense", found.dense), ("sparse", found.sparse))
            for hit in hits
        }

    await publish(index, "a", points("a", range(40)))
    before = pytest.approx(await answers(), rel=0, abs=tolerance)
    await publish(index, "b", points("b", range(60)))
    assert await answers() == before
    await publish(index, "b", points("b", range(40, 70), version="v2"))
    assert await answers() == before
    await index.remove(BookId("b"))
    assert await answers() == before


async def test_several_books_are_searched_as_if_they_were_one(index: BookStore) -> None:
    """Document frequencies are those of the books asked, together."""

    both = [*points("a", range(40)), *points("b", range(10))]
    await publish(index, "a", both[:40])
    await publish(index, "b", both[40:])
    await publish(index, "c", points("c", range(30)))
    one = [replace(point, chunk=replace(point.chunk, book=BookId("together"))) for point in both]
    source = random.Random(6)
    queries = [random_sparse(source) for _ in range(20)]
    scope = only("a", "b")
    pooled = [(await index.search(None, query, 50, scope)).sparse for query in queries]
    terms = queries[0].indices
    best = await index.best_scores(terms, scope.books)
    await publish(index, "together", one)
    scope = only("together")
    for query, got in zip(queries, pooled, strict=True):
        expected = (await index.search(None, query, 50, scope)).sparse
        assert {hit.chunk_id: hit.score for hit in got} == pytest.approx(
            {hit.chunk_id: hit.score for hit in expected}, abs=1e-5
        )
    assert best == pytest.approx(await index.best_scores(terms, scope.books), abs=1e-5)
