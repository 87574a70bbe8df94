"""Permanent links: to a paragraph where it is now, also by an old id; 410 when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.bootstrap.storage import open_index
from app.domain.book_id import BookId
from app.domain.document import Site
from app.domain.identity import content_id
from app.services.ingest import IngestRequest
from app.settings import Settings
from tests.serving import connected, ingest, offline_settings, serving

SITE = "https://lamps.example"
FIRST = "The Fresnel lens bends the light of a small lamp into a single beam."
EDITED = "The Fresnel lens bends the light of a weak lamp into a single beam."
GONE = "Keepers trimmed the wick every four hours, all night long, and slept by day."
PAGE = "# Lamps\n\n{first}\n\n## Keepers\n\n{second}\n\nAn assistant kept the log book.\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve a book that was ingested, edited, and ingested again."""
    folder = tmp_path_factory.mktemp("book")
    home = tmp_path_factory.mktemp("home") / "rag"
    settings = offline_settings(home)
    request = IngestRequest(folder, book=BookId("lamps"), site=Site.PLAIN, base_url=SITE)
    for first, second in ((FIRST, GONE), (EDITED, "")):
        page = PAGE.format(first=first, second=second)
        (folder / "lamps.md").write_text(page, encoding="utf-8")
        ingest(settings, request)
    with connected(settings) as client:
        yield client


@pytest.mark.parametrize("text", [FIRST, EDITED], ids=["first id", "hash of the edited text"])
def test_a_paragraph_is_found_by_its_id_and_by_its_alias(client: httpx.Client, text: str) -> None:
    response = client.get(f"/cite/{content_id(text)}")
    assert response.status_code == 302
    assert response.headers["location"].startswith(f"{SITE}/lamps.html")


def test_a_paragraph_that_is_gone_names_the_nearest_section(client: httpx.Client) -> None:
    response = client.get(f"/cite/{content_id(GONE)}")
    assert response.status_code == 410
    problem = response.json()
    assert problem["code"] == "paragraph_gone"
    assert f"{SITE}/lamps.html#keepers" in problem["detail"]
    assert response.headers["link"].startswith(f"<{SITE}/lamps.html#keepers>")


@pytest.mark.parametrize("path", ["/cite/p-unknown", f"/cite/{content_id(FIRST)}?book=other"])
def test_an_id_that_was_never_known_is_404(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert response.json()["code"] == "paragraph_not_found"


async def roll_back(settings: Settings) -> None:
    async with open_index(settings) as index:
        await index.rollback(BookId("lamps"))


def test_a_paragraph_of_the_generation_that_a_rollback_made_current_is_not_gone(
    tmp_path: Path,
) -> None:
    page = tmp_path / "lamps.md"
    settings = offline_settings(tmp_path / "home")
    request = IngestRequest(page, book=BookId("lamps"), site=Site.PLAIN, base_url=SITE)
    for second in (GONE, ""):
        page.write_text(PAGE.format(first=FIRST, second=second), encoding="utf-8")
        ingest(settings, request)
    asyncio.run(roll_back(settings))
    with serving(settings) as address:
        response = httpx.get(f"{address}/cite/{content_id(GONE)}")
    assert response.status_code == 302
    assert response.headers["location"].startswith(f"{SITE}#keepers:~:text=")
