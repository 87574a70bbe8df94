"""What was made from a book is kept until the book is indexed anew."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from app.domain.chunking.chunk import Chunk
from app.services.book_scope import BookCache
from tests.fake_world import FakeIndex, make_chunk
from tests.made_chunks import made_manifest

INDEX = FakeIndex([make_chunk("a", file="a.md"), make_chunk("b", file="b.md")])


def texts(chunks: Sequence[Chunk]) -> list[str]:
    """A new list each time that it is made."""
    return [one.text_content for one in chunks]


async def test_a_book_that_was_removed_and_indexed_again_is_read_anew() -> None:
    cache, before = BookCache(INDEX, texts, 9), made_manifest()
    again = replace(before, fingerprint="another")
    assert again.generation == before.generation
    made = [await cache.of(one) for one in (before, before, again, replace(again, generation=2))]
    assert made == [["a", "b"]] * 4
    assert len({*map(id, made)}) == 3


async def test_two_questions_at_the_same_time_make_it_once_and_each_part_apart() -> None:
    cache, manifest = BookCache(INDEX, texts, 9), made_manifest()
    asked = [cache.of(manifest, (f"{file}.md",)) for file in "abab"]
    first, second, *same = await asyncio.gather(*asked)
    assert (first, second) == (["a"], ["b"])
    assert same[0] is first
    assert same[1] is second
