"""A running server takes up what an ingest publishes, and drops no request meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx

from app.domain.book_id import BookId
from app.services.ingest import IngestRequest
from tests.ingesting import BOOK, edit, make_book
from tests.serving import ingest, offline_settings, serving


class Asking(threading.Thread):
    """Asks without a pause, and keeps each answer."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.over = threading.Event()
        self.answers: list[tuple[int, frozenset[str]]] = []

    def run(self) -> None:
        body = {"question": "page0 part0", "k": 20}
        with httpx.Client(base_url=self._address, timeout=10) as client:
            while not self.over.is_set():
                response = client.post("/v1/search", json=body)
                hits = response.json().get("hits", [])
                texts = frozenset(hit["text"] for hit in hits)
                self.answers.append((response.status_code, texts))

    def wait_for(self, word: str) -> None:
        """Return when an answer with this word has come."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if any(word in text for _, texts in list(self.answers) for text in texts):
                return
            time.sleep(0.01)
        raise AssertionError(f"no answer with {word!r}")


def test_a_running_server_answers_from_the_new_generation_and_never_from_both(
    home: Path, tmp_path: Path
) -> None:
    book = make_book(tmp_path / "lamps", pages=3)
    settings = offline_settings(home)
    request = IngestRequest(book, book=BookId(BOOK), base_url="https://book")
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
                asking.wait_for(f"Version{number}")
        finally:
            asking.over.set()
            asking.join()
    assert {status for status, _ in asking.answers} == {200}
    for _, texts in asking.answers:
        assert len(texts) == 6
        for number in range(2):
            marked = sum(f"Version{number}" in text for text in texts)
            assert marked in {0, 3}, "an answer of two generations"
