"""A running server takes up what an ingest publishes, and drops no request meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.services.ingest import IngestRequest
from tests.index_points import quick_folder
from tests.ingesting import BOOK, edit, make_book
from tests.serving import ingest, offline_settings, serving

LIMIT_SECONDS = 2.0


@pytest.fixture
def home() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "home"


class Asking(threading.Thread):
    """Asks without a pause, and keeps each answer with the time it came."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.over = threading.Event()
        self.answers: list[tuple[float, int, frozenset[str]]] = []

    def run(self) -> None:
        body = {"question": "page0 part0", "k": 20}
        with httpx.Client(base_url=self._address, timeout=10) as client:
            while not self.over.is_set():
                response = client.post("/v1/search", json=body)
                hits = response.json().get("hits", [])
                texts = frozenset(hit["text"] for hit in hits)
                self.answers.append((time.monotonic(), response.status_code, texts))

    def wait_for(self, word: str) -> float:
        """When the first answer with this word came."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for at, _, texts in list(self.answers):
                if any(word in text for text in texts):
                    return at
            time.sleep(0.01)
        raise AssertionError(f"no answer with {word!r}")


def test_a_running_server_answers_from_the_new_generation_and_never_from_both(
    home: Path, tmp_path: Path
) -> None:
    book = make_book(tmp_path / "lamps", pages=3)
    settings = offline_settings(home)
    request = IngestRequest(book, book=BOOK, base_url="https://book")
    ingest(settings, request)
    with serving(settings) as address:
        asking = Asking(address)
        asking.start()
        try:
            asking.wait_for("Page0 part0")
            for number in range(2):
                for file in book.iterdir():
                    edit(file, "part0 ", f"part0 Version{number} ")
                ingest(settings, request)
                published = time.monotonic()
                taken_up = asking.wait_for(f"Version{number}")
                assert taken_up - published < LIMIT_SECONDS
        finally:
            asking.over.set()
            asking.join()
    assert {status for _, status, _ in asking.answers} == {200}
    for _, _, texts in asking.answers:
        assert len(texts) == 6
        for number in range(2):
            marked = sum(f"Version{number}" in text for text in texts)
            assert marked in {0, 3}, "an answer of two generations"
