"""Permanent links: to a paragraph where it is now, also by an old id; 410 when it is gone."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.domain.identity import content_id
from app.settings import Settings
from tests.command_line import Run, write_files
from tests.owl_server import assert_problem
from tests.serving import connected, ingested

SITE = "https://lamps.example"
FIRST = "The Fresnel lens bends the light of a small lamp into a single beam."
EDITED = "The Fresnel lens bends the light of a weak lamp into a single beam."
GONE = "Keepers trimmed the wick every four hours, all night long, and slept by day."


def edited(home: Path, folder: Path) -> Settings:
    """Ingest a book, edit it, and ingest it again."""
    for first, second in ((FIRST, GONE), (EDITED, "")):
        text = f"# Lamps\n\n{first}\n\n## Keepers\n\n{second}\n\nAn assistant kept the log book.\n"
        settings = ingested(home, write_files(folder, {"lamps.md": text}), base_url=SITE)
    return settings


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("edited")
    with connected(edited(folder / "rag", folder / "lamps")) as client:
        yield client


@pytest.mark.parametrize("text", [FIRST, EDITED], ids=["first id", "hash of the edited text"])
def test_a_paragraph_is_found_by_its_id_and_by_its_alias(client: httpx.Client, text: str) -> None:
    response = client.get(f"/cite/{content_id(text)}")
    assert response.status_code == 302
    assert response.headers["location"].startswith(f"{SITE}/lamps.html")


def test_a_paragraph_that_is_gone_names_the_nearest_section(client: httpx.Client) -> None:
    response = client.get(f"/cite/{content_id(GONE)}")
    problem = assert_problem(response, 410, "paragraph_gone")
    assert f"{SITE}/lamps.html#keepers" in problem["detail"]
    assert response.headers["link"].startswith(f"<{SITE}/lamps.html#keepers>")


@pytest.mark.parametrize("path", ["/cite/p-unknown", f"/cite/{content_id(FIRST)}?book=other"])
def test_an_id_that_was_never_known_is_404(client: httpx.Client, path: str) -> None:
    assert_problem(client.get(path), 404, "paragraph_not_found")


def test_a_paragraph_of_the_generation_that_a_rollback_made_current_is_not_gone(
    run: Run, home: Path
) -> None:
    settings = edited(home / "state", home / "lamps")
    assert run("rollback", "lamps").code == 0
    with connected(settings) as client:
        response = client.get(f"/cite/{content_id(GONE)}")
    assert response.status_code == 302
    assert response.headers["location"].startswith(f"{SITE}/lamps.html#keepers:~:text=")
