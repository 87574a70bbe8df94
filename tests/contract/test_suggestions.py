"""What a reader of a page can ask."""

from __future__ import annotations

from pathlib import Path

import httpx

from app.domain.book_id import BookId
from app.domain.document import Site
from app.services.ingest import IngestRequest
from tests.owl_server import ORIGIN, assert_problem
from tests.serving import ingest, offline_settings, serving

_PAGE = """\
# Owls

An owl is a bird that hunts at night.

## Silent flight of barn owls

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
    with serving(settings) as address, httpx.Client(base_url=address) as client:
        found = client.get("/v1/suggestions", params={"page": "/owls", "book": "owls"}).json()
        assert found["book"] == "owls"
        asks = ['What does the book say about "Silent flight of barn owls"?']
        assert found["questions"] == asks
        texts = [exercise["text"] for exercise in found["exercises"]]
        assert texts == ["Why does a fringe make the flight silent?", "Name two prey animals."]
        assert all(one["paragraph_id"].startswith("p-") for one in found["exercises"])
        assert_problem(
            client.get("/v1/suggestions", params={"page": "/foxes"}), 404, "page_not_found"
        )
        other = client.get("/v1/suggestions", params={"page": f"{ORIGIN}/bats"}).json()
        assert other["exercises"] == []
