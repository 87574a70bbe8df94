"""Servers of one tiny book, for all tests of what goes over the wire; a pytest plugin."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.bootstrap.books import sample_request
from tests.command_line import Run, write_files
from tests.serving import ScriptedGenerator, connected, ingest, ingested, offline_settings

BOOK = """\
# Owls

## Night vision

An owl sees well at night because its eyes are large tubes. 🦉 The tubes cannot turn in the skull.

## Silent flight

The feathers of an owl end in a soft fringe that breaks up the air, so the flight makes no sound.

## Glossary

### Fringe

Threads at an edge.

### Skull

The bones of the head.

### Talon

The claw of a bird of prey.
"""
QUESTION = "Why is the flight of an owl silent?"
UNSURE = "Hockey championship?"
"""A question that only a model may answer: without it there is an error."""
ORIGIN = "https://book.example"
OTHER = "https://bats.example"


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder that holds the sample book's index; for reading only."""
    home = tmp_path_factory.mktemp("sample") / "rag"
    ingest(offline_settings(home), sample_request())
    return home


@pytest.fixture(scope="session")
def owl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder that holds the tiny book's index; for reading only."""
    book = write_files(tmp_path_factory.mktemp("book") / "owls", {"owls.md": BOOK})
    return ingested(tmp_path_factory.mktemp("home") / "rag", book, base_url=ORIGIN).home


@pytest.fixture(scope="module")
def own_home(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder with the tiny book, for one module."""
    return Path(shutil.copytree(owl_home, tmp_path_factory.mktemp("own") / "rag"))


@pytest.fixture(scope="session")
def generator() -> ScriptedGenerator:
    return ScriptedGenerator()


@pytest.fixture(scope="session")
def client(owl_home: Path) -> Iterator[httpx.Client]:
    """A client of a server that answers in the book's own sentences."""
    settings = offline_settings(owl_home, allowed_origins=f"{ORIGIN}, https://other.example:8443")
    with connected(settings) as client:
        yield client


@pytest.fixture(scope="session")
def generating(owl_home: Path, generator: ScriptedGenerator) -> Iterator[httpx.Client]:
    """A client of a server whose answers `generator` writes."""
    settings = offline_settings(Path(shutil.copytree(owl_home, owl_home.parent / "generating")))
    with connected(settings, generator.open) as client:
        yield client


@pytest.fixture
def state(owl_home: Path, home: Path) -> Path:
    """The command line's state folder, with the tiny book."""
    return Path(shutil.copytree(owl_home, home / "state"))


@pytest.fixture(scope="session")
def both_home(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder with the books owls and bats; for reading only."""
    folder = tmp_path_factory.mktemp("both")
    state = Path(shutil.copytree(owl_home, folder / "rag"))
    bats = BOOK.replace("owl", "bat").replace("Owl", "Bat")
    return ingested(state, write_files(folder / "bats", {"bats.md": bats}), base_url=OTHER).home


@pytest.fixture
def two_books(both_home: Path, home: Path) -> Path:
    """The command line's state folder, with the books owls and bats."""
    return Path(shutil.copytree(both_home, home / "state"))


def added(run: Run, *options: str) -> str:
    """Return a new key."""
    key: str = run("keys", "add", *options, "--json").json()["key"]
    return key


def bearer(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **headers}


def events_of(response: httpx.Response) -> list[tuple[str, Any]]:
    """Return (name, data) of each server-sent event of the response."""
    events = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if lines:
            events.append((lines["event"], json.loads(lines["data"])))
    return events


def assert_problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"]
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == response.headers["x-request-id"] != ""
    return problem
