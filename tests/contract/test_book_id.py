"""A book's id reaches no file but that book's own, whoever sends it and by whatever way."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from app.adapters.reading.book import book_id_of, book_name
from app.domain.identity import content_id
from tests.command_line import write_files
from tests.ingesting import state_of
from tests.serving import connected, ingested, offline_settings

pytestmark = pytest.mark.attack

TEXT = "The Fresnel lens bends the light of a small lamp into a single beam."
FOREIGN = "https://evil.example"
NO_IDS = [
    "../embeddings", "..", ".", "/etc/passwd", "lamps/../lamps", "lamps\0", "lamps\n", "Lamps", "",
    "a" * 65, "%2e%2e%2fembeddings", "..\\embeddings", "ｌamps", "lamps?mode=rwc", "~",
]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One indexed book, the vector cache, and a ledger that someone else prepared."""
    folder = tmp_path_factory.mktemp("ids")
    book = write_files(folder / "lamps", {"lamps.md": f"# Lamps\n\n{TEXT}\n"})
    home = ingested(folder / "rag", book, base_url="https://lamps.example").home
    prepared = sqlite3.connect(home / "ledger" / "prepared.sqlite")
    with sqlite3.connect(home / "ledger" / "lamps.sqlite") as ledger:
        prepared.executescript("\n".join(ledger.iterdump()))
    with prepared:
        changed = "json_set(entry, '$.live', json('false'), '$.url', ?)"
        prepared.execute(f"update entry set entry = {changed}", (FOREIGN,))
    prepared.close()
    return home


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[httpx.Client]:
    with connected(offline_settings(home)) as client:
        yield client


@pytest.mark.parametrize("text", NO_IDS)
def test_every_route_refuses_it_and_no_file_is_touched(
    client: httpx.Client, home: Path, text: str
) -> None:
    before = state_of(home)
    answers = [
        client.get(f"/cite/{content_id(TEXT)}?book={quote(text)}"),
        client.get(f"/v1/glossary?page=/lamps.html&book={quote(text)}"),
        client.post("/v1/chat", json={"question": "What bends the light?", "book": text}),
        client.post("/v1/search", json={"question": "What bends the light?", "book": text}),
    ]
    assert [answer.status_code for answer in answers] == [422] * 4
    assert {answer.json()["code"] for answer in answers} == {"invalid_request"}
    assert state_of(home) == before


def test_only_indexed_books_are_opened(client: httpx.Client, home: Path) -> None:
    """The answer is that of a name that is nowhere, so that it does not tell what files exist."""
    before = state_of(home)
    found, missing = (
        client.get(f"/cite/{content_id(TEXT)}?book={name}") for name in ("prepared", "nowhere")
    )
    assert found.status_code == missing.status_code == 404
    assert found.json()["detail"] == missing.json()["detail"]
    assert "link" not in found.headers
    assert state_of(home) == before


def test_citing_leaves_every_file_as_it_was(client: httpx.Client, home: Path) -> None:
    before = state_of(home)
    assert client.get(f"/cite/{content_id(TEXT)}?book=lamps").status_code == 302
    assert client.get("/cite/p-unknown").status_code == 404
    assert state_of(home) == before


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Rust Book", "rust-book"), ("my_notes", "my-notes"), ("...", "book"), ("v1.2", "v1-2")],
)
def test_a_folders_name_becomes_an_id(name: str, expected: str) -> None:
    assert book_id_of(name) == expected


@pytest.mark.parametrize("built", ["beets/html", "beets/_build/html", "beets/docs", "beets"])
def test_a_generators_folder_does_not_name_the_book(tmp_path: Path, built: str) -> None:
    (tmp_path / built).mkdir(parents=True)
    assert book_name(tmp_path / built) == "beets"


def test_folders_whose_names_lose_letters_stay_apart() -> None:
    names = ["Übung", "Ubung", "bung", "本", "书", "x" * 80, "x" * 81]
    ids = [book_id_of(name) for name in names]
    assert len(set(ids)) == len(names)
    assert ids[2] == "bung"
    assert ids == [book_id_of(name) for name in names]
