"""What was made from a book is kept until the book is indexed anew."""

import asyncio
from dataclasses import replace

from app.domain.indexed_book import BookManifest
from app.services.book_cache import BookCache
from tests.made_chunks import made_manifest


class Counting:
    """Makes a text from a manifest, and counts how often."""

    def __init__(self) -> None:
        self.cache: BookCache[str] = BookCache(9)
        self.made = 0

    async def read(self, manifest: BookManifest, part: str = "") -> str:
        async def make() -> str:
            self.made += 1
            await asyncio.sleep(0)
            return f"{manifest.fingerprint} {manifest.generation} {part}"

        return await self.cache.get(manifest, make, part)


async def test_a_book_that_was_removed_and_indexed_again_is_read_anew() -> None:

    counting, before = Counting(), made_manifest()
    again = replace(before, fingerprint="another")
    assert again.generation == before.generation
    assert await counting.read(before) != await counting.read(again)
    later = replace(again, generation=2)
    assert await counting.read(later) == "another 2 "


async def test_two_questions_at_the_same_time_make_it_once_and_each_part_apart() -> None:

    counting, manifest = Counting(), made_manifest()
    asked = [counting.read(manifest, part) for part in ("a", "b", "a", "b")]
    first, second, *same = await asyncio.gather(*asked)
    assert first != second
    assert same == [first, second]
    assert counting.made == 2
