"""What comes after the parser takes steps in proportion to the page or answer, whatever it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest

from app.adapters.index_terms import IndexTerms
from app.adapters.sentences import split_sentences
from app.domain import ledger_matching
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import (
    ChunkingConfig,
    FixedConfig,
    PackingConfig,
    RecursiveConfig,
    StrategyName,
)
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import Block, BlockKind, Book
from app.domain.generated_text.model_text import GeneratedText
from app.domain.glossary import TermFinder, glossary_terms, with_references
from app.domain.identity import content_id, keep_ids
from app.domain.ledger import Ledger
from app.domain.page_links import page_links
from app.services.ingest_plan import compare, fingerprint
from app.services.lexical import chunk_vector
from tests.attacking import steps
from tests.chunking_documents import tools
from tests.fake_world import context_of, in_order, passage, terms
from tests.markdown_pages import as_book, read_page
from tests.reading_patterns import PATTERNS, numbered, patterns, times

pytestmark = pytest.mark.attack

SIZE = 1_200
"""Characters of the shorter page."""
MOST = 2.4
"""Times the steps that twice the page may take; quadratic work takes four times as many."""
FEW = 100
"""Steps that do not count: what is over in so few has not begun to grow."""
COMMON = 4
"""Holders of a common 5-gram; with the sizes below, a short page has what a long one has."""
SIZES = ChunkingConfig(
    structure=PackingConfig(low=24, high=60, minimum=12, maximum=80, overlap=8),
    fixed=FixedConfig(size=90, overlap=12),
    recursive=RecursiveConfig(size=60, overlap=12),
    sentence=PackingConfig(low=60, high=60, minimum=8, maximum=80, overlap=8),
)
LARGER = 6
"""Times SIZE, to tell what grows on from what grows once."""

SIGNS = str.maketrans("0123456789", "@#$%&;,!?+")


SHAPES = (
    patterns("domain_growth")
    | {
        one: PATTERNS[one]
        for one in ("paragraphs", "headings", "list items", "footnotes and their uses")
    }
    | {
        "glossary of signs": lambda size: (
            "# Glossary\n\n" + numbered("№index\n: An index.\n\n")(size).translate(SIGNS)
        ),
        "headings round an excluded block": lambda size: (
            times("# Part\n\n")(size // 2) + "```\ncode\n```\n\n" + times("## A\n\n")(size // 2)
        ),
        "words in pairs": lambda size: " $x$ ".join(
            f"a{at % 50} {at % 7}" for at in range(size // 10)
        ),
    }
)


@dataclass(frozen=True)
class Page:
    """A page with the results of the previous stages."""

    book: Book
    ledger: Ledger
    chunks: Sequence[Chunk]


TERMS = IndexTerms()


def made(text: str) -> Page:
    book, ledger = keep_ids(as_book(read_page(text)), Ledger())
    return Page(book, ledger, chunked(book))


def chunked(book: Book, **settings: object) -> list[Chunk]:
    config = replace(SIZES, **settings)  # type: ignore[arg-type]  # by name
    return [one for page in book.documents for one in stream_chunks(page, book, config, tools())]


def edited(book: Book) -> Book:
    """Return the book with one more word in the middle of each paragraph."""
    (page,) = book.documents
    return replace(book, documents=(replace(page, blocks=tuple(map(reworded, page.blocks))),))


def reworded(block: Block) -> Block:
    half = len(block.text) // 2
    text = f"{block.text[:half]} edited {block.text[half:]}"
    return replace(block, text=text, paragraph_id=content_id(text))


def compared(page: Page) -> None:
    later = chunked(edited(page.book))
    fingerprint(later, "model")
    compare({chunk.chunk_id: chunk.paragraph_ids for chunk in page.chunks}, later)


def hints(page: Page) -> None:
    passages = [passage for chunk in page.chunks for passage in chunk.passages]
    terms = [term for passage in passages for term in glossary_terms(passage)]
    with_references(terms)
    TermFinder(terms).find(passages)


def by(page: Page, **settings: object) -> None:
    chunked(page.book, **settings)


STAGES: Mapping[str, Callable[[Page], object]] = {
    "ids": lambda page: keep_ids(page.book, Ledger()),
    "same ids": lambda page: keep_ids(page.book, page.ledger),
    "edited": lambda page: keep_ids(edited(page.book), page.ledger),
    "links": lambda page: page_links(page.book.documents[0]),
    "structure": partial(by, exclude=(BlockKind.CODE, BlockKind.TABLE)),
    "fixed": partial(by, strategy=StrategyName.FIXED),
    "recursive": partial(by, strategy=StrategyName.RECURSIVE),
    "sentence": partial(by, strategy=StrategyName.SENTENCE),
    "compare": compared,
    "terms": lambda page: [chunk_vector(chunk, TERMS.of_document) for chunk in page.chunks],
    "glossary": hints,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_page_takes_twice_the_steps(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_matching, "COMMON_GRAM", COMMON)
    slow = slower(shape, [*STAGES], SIZE)
    # A page may also grow out of a size at which there is less to do: a list that a chunk holds.
    if slow:
        slow = slower(shape, [*slow], SIZE * LARGER)
    assert not slow


def slower(shape: str, stages: Sequence[str], size: int) -> dict[str, tuple[int, ...]]:
    """Return the stages that take more than twice the steps for twice the page."""
    pages = [made(SHAPES[shape](one)) for one in (size, 2 * size)]
    taken = {one: tuple(steps(partial(STAGES[one], page)) for page in pages) for one in stages}
    return {one: both for one, both in taken.items() if both[1] > FEW + MOST * both[0]}


SENTENCE = "Owls hunt mice at night. "
LENGTH = 2 * len(SENTENCE) * 25
"""Characters."""
REPEATED = [
    *("claims ", "[1", "[1] ", "$", "*", "\\", SENTENCE, "`", "``` ", "```\n", "[", "](", "<a "),
    *("<!--", "&#58;", "https://", "a@b.c ", "|", "\n", "- ", "1. ", "x. Y ", "\u6c34\u3002"),
    *("\u200b", "(2) ", "Owls [1]. ", "[^1]: x", "\\[1\\]", "[x](y) ", "//a"),
]


def answered(text: str, size: int) -> None:
    """Verify an answer that comes in pieces of `size`."""
    context = context_of(
        *in_order(passage(SENTENCE, "p-owls"), passage("Mice eat seeds.", "p-mice"))
    )
    builder = CitedAnswerBuilder(Verifier(by_paragraph(context), terms, split_sentences))
    for at in range(0, len(text), size):
        builder.take(GeneratedText(text[at : at + size], ("p-owls", "p-mice")))
    builder.close()


def steps_of(text: str, size: int) -> int:
    """Return the steps of the answer, once the program's caches of words are filled."""
    answered(text, size)
    return steps(partial(answered, text, size))


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("pattern", REPEATED)
def test_twice_the_answer_takes_twice_the_steps(pattern: str, size: int) -> None:
    once = pattern * (LENGTH // len(pattern))
    assert steps_of(once * 2, size) < MOST * steps_of(once, size)
