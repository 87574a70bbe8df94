"""The guarantees on real books."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.reading.book import read_book
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.report import Report, guarantee_report
from app.domain.chunking.strategies import stream_chunks
from tests.chunking_documents import tools


def _report(folder: Path) -> Report:
    book = read_book(folder)
    config = ChunkingConfig()
    chunks = [
        chunk
        for document in book.documents
        for chunk in stream_chunks(document, book, config, tools())
    ]
    return guarantee_report(book, chunks, tools())


def _check(report: Report) -> None:
    assert {name: found for name, found in report.breaches.items() if found} == {}
    assert report.in_band >= 0.8
    assert 0.1 <= report.overlap <= 0.2
    assert report.largest <= 700


def test_the_sample_book_keeps_every_guarantee(sample_book: Path) -> None:
    _check(_report(sample_book))


@pytest.mark.parametrize(
    "name", ["openstax-biology", "rust-book-quizzes", "redux-docs", "hf-course"]
)
def test_a_real_book_keeps_every_guarantee(shared_data: Path, name: str) -> None:
    _check(_report(shared_data / "books" / name))
