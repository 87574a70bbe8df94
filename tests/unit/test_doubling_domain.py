"""What comes after the parser takes steps in proportion to the page, whatever its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest

from app.adapters.index_terms import IndexTerms
from app.adapters.langchain_splitters import recursive_splitter
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain import ledger_matching
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import (
    ChunkingConfig,
    FixedConfig,
    PackingConfig,
    RecursiveConfig,
    StrategyName,
)
from app.domain.chunking.strategies import stream_chunks
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book
from app.domain.glossary import TermFinder, glossary_terms, with_references
from app.domain.identity import content_id, keep_ids
from app.domain.ledger import Ledger
from app.domain.page_links import page_links
from app.services.ingest_plan import compare, fingerprint
from app.services.lexical import chunk_vector
from tests.attacking import steps
from tests.markdown_pages import as_book, read_page

pytestmark = pytest.mark.attack("shapes")

UNITS = 28
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
"""Times UNITS, to tell what grows on from what grows once."""

Shape = Callable[[int], str]

_WORDS = (
    "index term query score vector model page reader sum over each ranked list paper lantern "
    "harbor cell energy light plant water rust borrow owner trait field store action state".split()
)


def _drawn(number: int, count: int) -> str:
    """Return `count` words, the same for the same number; neighbours differ."""
    state = number * 2_654_435_761 + 1
    words = []
    for _ in range(count):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        words.append(_WORDS[(state >> 16) % len(_WORDS)])
    return " ".join(words)


def _lines(line: Callable[[int], str], between: str = "\n") -> Shape:
    return lambda n: between.join(map(line, range(n))) + "\n"


def _blocks(line: Callable[[int], str]) -> Shape:
    return _lines(line, "\n\n")


def _same(text: str, between: str = "\n\n") -> Shape:
    return lambda n: between.join([text] * n) + "\n"


def _framed(before: str, inner: Shape, after: str) -> Shape:
    return lambda n: before + inner(n) + after


def _fenced(inner: Shape) -> Shape:
    return _framed("```rust\n", inner, "```\n")


def _table(row: Callable[[int], str], head: str = "| key | value |\n|---|---|\n") -> Shape:
    return _framed(head, _lines(row), "")


def _glossary(entry: Callable[[int], str]) -> Shape:
    return _framed("# Glossary\n\n", _blocks(entry), "")


def _sentence(number: int) -> str:
    return f"{_drawn(number, 9).capitalize()}."


SHAPES: Mapping[str, Shape] = {
    # Equal units, for code that counts, numbers or distinguishes repeats.
    "equal paragraphs": _same("The index holds the terms of the page."),
    "equal headings": _same("## Exercises"),
    "equal list items": _same("- the same item of the list", "\n"),
    "equal table rows": _table(lambda _: "| index | the terms |"),
    "equal glossary entries": _glossary(lambda _: "index\n: The list of terms."),
    "equal words": _same("index", " "),
    # The same with units that differ.
    "paragraphs": _blocks(lambda i: f"{_drawn(i, 25).capitalize()} {i}."),
    "headings": _blocks(lambda i: f"## Section {i}"),
    "sections": _blocks(lambda i: f"## Section {i}\n\n{_sentence(i)} {_sentence(i + 1)}"),
    "lines of code": _fenced(_lines(lambda i: f"let {_drawn(i, 2).replace(' ', '_')} = {i};")),
    "list items": _lines(lambda i: f"- {_drawn(i, 8)}"),
    "table rows": _table(lambda i: f"| {_drawn(i, 2)} | {_drawn(i + 1, 5)} {i} |"),
    "table of a wide header": _table(
        lambda i: f"| {_drawn(i, 2)} | {i} |", f"| {_drawn(1, 90)} | value |\n|---|---|\n"
    ),
    "glossary of one first word": _glossary(lambda i: f"index {i}\n: See the index {i + 1}."),
    "glossary of signs": _glossary(
        lambda i: f"{''.join('@#$%&'[i // 5**k % 5] for k in range(6))}index\n: An index."
    ),
    "a sentence over each formula": _blocks(lambda i: f"where we get\n\n$$\nx = {i}\n$$"),
    "lead-ins": _blocks(lambda i: f"The following list shows {i}:\n\n- {_drawn(i, 3)}\n- end"),
    "footnotes": lambda n: (
        "".join(f"Word[^{i}] {_drawn(i, 5)}.\n\n" for i in range(n))
        + "".join(f"[^{i}]: {_drawn(i, 6)}\n\n" for i in range(n))
    ),
    # One long unit.
    "one paragraph": _lines(_sentence, " "),
    "one list item": _framed("- ", _lines(_sentence, " "), ""),
    "one table cell": _framed("| a |\n|---|\n| ", _lines(_sentence, " "), "|\n"),
    "one word": lambda n: "".join(f"{_drawn(i, 1)}{i}" for i in range(n)) + "\n",
    "one admonition": _framed(":::note\n\n", _blocks(_sentence), "\n:::\n"),
    # Without full stops, capitals or blanks; with nothing else.
    "no capitals and no stops": _lines(lambda i: _drawn(i, 9), " "),
    "stops alone": _lines(lambda _: ". .", " "),
    "Chinese": _lines(lambda i: "索引保存每一页的词语" + chr(0x4E00 + i % 2_000), ""),
    "emoji": _lines(lambda i: chr(0x1F600 + i % 60), ""),
    "code spans": _lines(lambda i: f"`{_drawn(i, 1)}` and", " "),
    "inline maths": _lines(lambda i: f"{_drawn(i, 4)} $x_{{{i}}}$", " "),
    "blanks in code": _fenced(lambda n: "a" + " " * (n * 10) + "b\n"),
    "blank lines in code": _fenced(lambda n: "a\n" + "\n" * n + "b\n"),
    "headings round an excluded block": lambda n: (
        "# Part\n\n" * n + "```\ncode\n```\n\n" + "## Section\n\n" * n
    ),
    "solutions": _blocks(
        lambda i: (
            f"**Exercise {i}** {_drawn(i, 5)}\n\n<details><summary>Solution</summary>\n\n"
            f"{_drawn(i, 6)}\n\n</details>"
        )
    ),
    "words in pairs": lambda n: (
        " $x$ ".join(_drawn(i % 50, 3) for i in range(n))
        + "\n\n"
        + " $y$ ".join(_drawn(i * 7 % 50, 3) for i in range(n))
    ),
}


@dataclass(frozen=True)
class Page:
    """A page with the results of the previous stages."""

    book: Book
    ledger: Ledger
    chunks: Sequence[Chunk]


COUNT = token_counter()
TOOLS = ChunkingTools(COUNT, split_sentences, recursive_splitter(COUNT))
TERMS = IndexTerms()


def made(shape: Shape, count: int) -> Page:
    book, ledger = keep_ids(as_book(read_page(shape(count))), Ledger())
    return Page(book, ledger, chunked(book))


def chunked(book: Book, **settings: object) -> list[Chunk]:
    config = replace(SIZES, **settings)  # type: ignore[arg-type]  # by name
    return [one for page in book.documents for one in stream_chunks(page, book, config, TOOLS)]


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
    slow = slower(shape, [*STAGES], UNITS)
    # A page may also grow out of a size at which there is less to do: a list that a chunk holds.
    if slow:
        slow = slower(shape, [*slow], UNITS * LARGER)
    assert not slow


def slower(shape: str, stages: Sequence[str], units: int) -> dict[str, tuple[int, ...]]:
    """Return the stages that take more than twice the steps for twice the page."""
    pages = [made(SHAPES[shape], units * times) for times in (1, 2)]
    taken = {one: tuple(steps(partial(STAGES[one], page)) for page in pages) for one in stages}
    return {one: both for one, both in taken.items() if both[1] > FEW + MOST * both[0]}
