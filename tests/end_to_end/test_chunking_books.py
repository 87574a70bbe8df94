"""The guarantees on real books."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from app.adapters.reading.book import read_book
from app.domain.chunking.config import ChunkingConfig, PackingConfig
from app.domain.chunking.strategies import stream_chunks
from tests.chunking_documents import tools
from tests.chunking_oracle import APART, breaches


def _check(folder: Path) -> None:
    book = read_book(folder)
    pages = [
        (document, list(stream_chunks(document, book, ChunkingConfig(), tools())))
        for document in book.documents
    ]
    found = {page.file: breaches(page, chunks) for page, chunks in pages}
    assert {file: broken for file, broken in found.items() if broken} == {}
    chunks = [chunk for _, page in pages for chunk in page]
    sizes = [one.token_count for one in chunks if one.content_type not in APART]
    band = PackingConfig()
    assert fmean(band.low <= size <= band.high for size in sizes) >= 0.8
    shares = [one.overlap_start / one.token_count for one in chunks if one.overlap_start]
    assert 0.1 <= fmean(shares) <= 0.2
    assert max(one.token_count for one in chunks) <= 700


def test_the_sample_book_keeps_every_guarantee(sample_book: Path) -> None:
    _check(sample_book)


@pytest.mark.parametrize(
    "name", ["openstax-biology", "rust-book-quizzes", "redux-docs", "hf-course"]
)
def test_a_real_book_keeps_every_guarantee(shared_data: Path, name: str) -> None:
    _check(shared_data / "books" / name)
