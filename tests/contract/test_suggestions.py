"""What a reader of a page can ask."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import Site
from app.domain.errors import StorageError
from app.domain.retrieval.query import SearchFilter
from app.services.book_scope import find_page
from app.services.ingest import IngestRequest
from app.services.page_aids import page_suggestions
from tests.fake_world import FakeIndex, FakeTerms, make_chunk, passage
from tests.made_chunks import made_manifest
from tests.owl_server import ORIGIN, assert_problem
from tests.serving import connected, ingest, offline_settings

_PAGE = """\
# Owls

An owl is a bird that hunts at night.

## How do owls hunt?

The feathers end in a soft fringe that breaks up the air, so the flight makes no sound.

## Exercises

### Exercise 1.1

Why does a *fringe* make the flight silent?

### Exercise 1.2

Name two prey animals.
"""


def test_a_page_suggests_its_sections_and_exercises(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "owls.md").write_text(_PAGE, encoding="utf-8")
    (folder / "bats.md").write_text("# Bats\n\nBats hear.\n", encoding="utf-8")
    settings = offline_settings(tmp_path / "home")
    ingest(settings, IngestRequest(folder, BookId("owls"), site=Site.PLAIN, base_url=ORIGIN))
    with connected(settings) as client:
        found = client.get("/v1/suggestions", params={"page": "/owls", "book": "owls"}).json()
        assert found["book"] == "owls"
        asks = [
            'What does "owls" mean?',
            "How do owls hunt?",
            "Why does a fringe make the flight silent?",
        ]
        assert found["questions"] == asks
        texts = [exercise["text"] for exercise in found["exercises"]]
        assert texts == ["Why does a fringe make the flight silent?", "Name two prey animals."]
        assert all(one["paragraph_id"].startswith("p-") for one in found["exercises"])
        assert_problem(
            client.get("/v1/suggestions", params={"page": "/foxes"}), 404, "page_not_found"
        )
        other = client.get("/v1/suggestions", params={"page": f"{ORIGIN}/bats"}).json()
        assert other["exercises"] == []


def test_a_heading_that_the_site_cannot_link_to_is_not_suggested() -> None:
    rows = [
        (("Owls",), "owls"),
        (("Owls", "How to find owls"), "owls"),
        (("Owls", "How to feed owls"), "how-owls-are-fed"),
    ]
    chunks = [
        replace(
            make_chunk("Text.", index=at),
            passages=(passage("Text.", anchor, heading_path=path),),
            deep_link_url="/a.md",
        )
        for at, (path, anchor) in enumerate(rows)
    ]
    assert page_suggestions(chunks, FakeTerms().lexical) == ["How do I feed owls?"]


@dataclass
class DamagedIndex(FakeIndex):
    """The first of two books cannot be read."""

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        if BookId("bats") in filter.books:
            raise StorageError("damaged")
        return await super().matching(filter)


def test_a_page_of_another_book_is_found_beside_a_damaged_one() -> None:
    manifests = [made_manifest(book) for book in ("bats", "owls")]
    index = DamagedIndex([make_chunk("Owls hunt.", book="owls")], manifests)
    found = asyncio.run(find_page(index, "/a.md"))
    assert found is not None
    assert found[0].book == "owls"
    with pytest.raises(StorageError, match="damaged"):
        asyncio.run(find_page(index, "/b.md"))
