"""The development books, read and chunked whole: nothing lost, every kind at its place."""

import re
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from app.domain.chunking.config import ChunkingConfig, PackingConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Book
from tests.chunking_documents import tools
from tests.chunking_oracle import APART, breaches
from tests.markdown_pages import assert_sound, read_identified

SIZES = PackingConfig()
NAMES = ("openstax-biology", "redux-docs", "hf-course", "rust-book-quizzes")


@pytest.fixture(scope="module")
def books(shared_data: Path) -> dict[str, Book]:
    """Return each development book, read once."""
    return {name: read_identified(shared_data / "books" / name) for name in NAMES}


def sources(book: Book) -> str:
    return "\n".join(str(page.source) for page in book.documents)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_real_book_is_lost_or_invented(name: str, books: dict[str, Book]) -> None:
    assert books[name].coverage() > 0.995  # a word that mark-up divides counts as two
    for page in books[name].documents:
        assert_sound(page)
    ids = [block.paragraph_id for block in books[name].blocks()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", NAMES)
def test_chunks_of_a_real_book_keep_every_guarantee(name: str, books: dict[str, Book]) -> None:
    assert_guarantees(books[name])


def test_chunks_of_the_sample_book_keep_every_guarantee(sample_book: Path) -> None:
    assert_guarantees(read_identified(sample_book))


def assert_guarantees(book: Book) -> None:
    pages = [
        (document, list(stream_chunks(document, book, ChunkingConfig(), tools())))
        for document in book.documents
    ]
    found = {page.file: breaches(page, chunks) for page, chunks in pages}
    assert {file: broken for file, broken in found.items() if broken} == {}
    chunks = [one for _, page in pages for one in page]
    sizes = [one.token_count for one in chunks if one.content_type not in APART]
    assert fmean(SIZES.low <= size <= SIZES.high for size in sizes) >= 0.8
    shares = [one.overlap_start / one.token_count for one in chunks if one.overlap_start]
    assert 0.1 <= fmean(shares) <= 0.2
    assert max(one.token_count for one in chunks) <= SIZES.maximum


def test_every_exercise_solution_and_entry_of_biology_has_its_kind(books: dict[str, Book]) -> None:
    book = books["openstax-biology"]
    text, found = sources(book), Counter(block.kind for block in book.blocks())
    assert found[BlockKind.EXERCISE] == text.count('data-type="problem"')
    assert found[BlockKind.SOLUTION] == text.count('data-type="solution"')
    glossaries = re.findall(r'data-type="glossary".*?</div>', text, re.S)
    entries = sum(len(re.findall(r"^: ", glossary, re.M)) for glossary in glossaries)
    assert entries - 3 <= found[BlockKind.GLOSSARY_ENTRY] <= entries  # three have two definitions
    assert found[BlockKind.FOOTNOTE] == text.count('data-type="footnote-ref" ')
    marked = (one.terms for one in book.blocks() if one.kind is not BlockKind.GLOSSARY_ENTRY)
    assert {"Matter", "electronegativity"} <= {term for terms in marked for term in terms}
