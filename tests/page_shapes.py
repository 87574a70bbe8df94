"""Hostile shapes of a page, and the stages after the parser, for tests of linear time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from app.adapters.index_terms import IndexTerms
from app.adapters.langchain_splitters import recursive_splitter
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.strategies import stream_chunks
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book, Document, Site
from app.domain.glossary import TermFinder, glossary_terms, with_references
from app.domain.identity import keep_ids
from app.domain.ledger import Ledger
from app.domain.page_links import page_links
from app.services.ingest_plan import compare, fingerprint
from app.services.lexical import chunk_vector
from tests.markdown_pages import read_text

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
    "equal long paragraphs": _same(" ".join(map(_sentence, range(12)))),
    "equal headings": _same("## Exercises"),
    "equal sections": _same("## Notes\n\nThe index holds terms."),
    "equal lines of code": _fenced(_same("    index.push(term);", "\n")),
    "equal code blocks": _same("```rust\nlet index = 1;\n```"),
    "equal list items": _same("- the same item of the list", "\n"),
    "equal table rows": _table(lambda _: "| index | the terms |"),
    "equal glossary entries": _glossary(lambda _: "index\n: The list of terms."),
    "equal formulas": _same("$$\nx = y + z\n$$"),
    "equal sentences": _same("The index holds terms.", " "),
    "equal words": _same("index", " "),
    # The same with units that differ.
    "paragraphs": _blocks(lambda i: f"{_drawn(i, 25).capitalize()} {i}."),
    "one-word paragraphs": _blocks(lambda i: f"word{i}"),
    "headings": _blocks(lambda i: f"## Section {i}"),
    "sections": _blocks(lambda i: f"## Section {i}\n\n{_sentence(i)} {_sentence(i + 1)}"),
    "lines of code": _fenced(_lines(lambda i: f"let {_drawn(i, 2).replace(' ', '_')} = {i};")),
    "code blocks": _blocks(lambda i: f"```rust\nlet index_{i} = {i};\n```"),
    "list items": _lines(lambda i: f"- {_drawn(i, 8)}"),
    "list items of two paragraphs": _blocks(lambda i: f"- {_drawn(i, 8)}\n\n  {_drawn(i + 1, 8)}"),
    "table rows": _table(lambda i: f"| {_drawn(i, 2)} | {_drawn(i + 1, 5)} {i} |"),
    "table of a wide header": _table(
        lambda i: f"| {_drawn(i, 2)} | {i} |", f"| {_drawn(1, 90)} | value |\n|---|---|\n"
    ),
    "glossary entries": _glossary(lambda i: f"{_drawn(i, 2)} {i}\n: The list of {_drawn(i, 4)}."),
    "glossary of one first word": _glossary(lambda i: f"index {i}\n: See the index {i + 1}."),
    "glossary of signs": _glossary(
        lambda i: f"{''.join('@#$%&'[i // 5**k % 5] for k in range(6))}index\n: An index."
    ),
    "quotes": _blocks(lambda i: f"> {_sentence(i)}"),
    "formulas": _blocks(lambda i: f"$$\nx_{i} = y + {i}\n$$"),
    "a sentence over each formula": _blocks(lambda i: f"where we get\n\n$$\nx = {i}\n$$"),
    "lead-ins": _blocks(lambda i: f"The following list shows {i}:\n\n- {_drawn(i, 3)}\n- end"),
    "one lead-in of a long list": _framed("All of them:\n\n", _lines(lambda i: f"- item {i}"), ""),
    "footnotes": lambda n: (
        "".join(f"Word[^{i}] {_drawn(i, 5)}.\n\n" for i in range(n))
        + "".join(f"[^{i}]: {_drawn(i, 6)}\n\n" for i in range(n))
    ),
    "admonitions": _blocks(lambda i: f":::note\n\n{_sentence(i)}\n\n:::"),
    # One long unit.
    "one paragraph": _lines(_sentence, " "),
    "one list item": _framed("- ", _lines(_sentence, " "), ""),
    "one table cell": _framed("| a |\n|---|\n| ", _lines(_sentence, " "), "|\n"),
    "one heading": _framed("## ", _lines(lambda i: _drawn(i, 3), " "), "\n\nText.\n"),
    "one word": lambda n: "".join(f"{_drawn(i, 1)}{i}" for i in range(n)) + "\n",
    "one glossary entry": _glossary(lambda i: f"{'index' if i == 0 else _sentence(i)}\n: Terms."),
    "one admonition": _framed(":::note\n\n", _blocks(_sentence), "\n:::\n"),
    # Without full stops, capitals or blanks; with nothing else.
    "no capitals and no stops": _lines(lambda i: _drawn(i, 9), " "),
    "numbers with stops": _lines(lambda i: f"no. {i}.", " "),
    "stops alone": _lines(lambda _: ". .", " "),
    "abbreviations": _lines(lambda i: f"e.g. Dr. {_drawn(i, 1).title()} et al.", " "),
    "closed brackets": _lines(lambda i: f"O({_drawn(i, 1)} (n))", " "),
    "Chinese": _lines(lambda i: "索引保存每一页的词语" + chr(0x4E00 + i % 2_000), ""),
    "Thai": _lines(lambda i: "ดัชนีเก็บคำของหน้า" + chr(0xE01 + i % 40), ""),
    "emoji": _lines(lambda i: chr(0x1F600 + i % 60), ""),
    "combining marks": lambda n: "e\u0301\u0301\u0301" * n + "\n",
    "code spans": _lines(lambda i: f"`{_drawn(i, 1)}` and", " "),
    "links": _lines(lambda i: f"[{_drawn(i, 2)}](https://example.org/{i})", " "),
    "emphasis": _lines(lambda i: f"**{_drawn(i, 1)}** _{_drawn(i + 1, 1)}_", " "),
    "inline maths": _lines(lambda i: f"{_drawn(i, 4)} $x_{{{i}}}$", " "),
    "line breaks": _lines(lambda i: _drawn(i, 3), "  \n"),
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
class Made:
    """A page with the results of the previous stages."""

    book: Book
    other: Book
    """The next version: each paragraph has one more word."""
    ledger: Ledger
    chunks: Sequence[Chunk]
    other_chunks: Sequence[Chunk]
    config: ChunkingConfig


@cache
def _tools() -> ChunkingTools:
    count = token_counter()
    return ChunkingTools(
        count_tokens=count,
        split_sentences=split_sentences,
        split_recursively=recursive_splitter(count),
        embed=lambda texts: [(float(len(text) % 7), 1.0) for text in texts],
        embeds_tokens=True,
    )


_TERMS = IndexTerms()


def made(shape: Shape, count: int, config: ChunkingConfig | None = None) -> Made:
    sizes = config or ChunkingConfig()
    first, ledger = keep_ids(_book(read_text(shape(count))), Ledger())
    other, _ = keep_ids(_changed(first), ledger)
    return Made(first, other, ledger, _chunks(first, sizes), _chunks(other, sizes), sizes)


def _book(document: Document) -> Book:
    return Book(BookId("b"), "B", Site.PLAIN, "", document.language, "1", (document,))


def _changed(book: Book, file: str = "page.md") -> Book:
    """Return the book with one more word in the middle of each paragraph, in this file."""
    document = book.documents[0]
    blocks = tuple(_reworded(block, file) for block in document.blocks)
    return replace(book, documents=(replace(document, blocks=blocks),))


def _reworded(block: Block, file: str) -> Block:
    half = len(block.text) // 2
    text = f"{block.text[:half]} edited {block.text[half:]}"
    name = f"p-{hash_of(text)}" if block.paragraph_id else ""
    return replace(block, text=text, file=file, paragraph_id=name)


def hash_of(text: str) -> str:
    """Ten characters, like those of a paragraph id."""
    return f"{sum(map(ord, text)) * 31 + len(text):010d}"[-10:]


def _chunks(book: Book, config: ChunkingConfig) -> list[Chunk]:
    return [
        chunk
        for document in book.documents
        for chunk in stream_chunks(document, book, config, _tools())
    ]


def _glossary_hints(page: Made) -> None:
    passages = [passage for chunk in page.chunks for passage in chunk.passages]
    terms = [term for passage in passages for term in glossary_terms(passage)]
    with_references(terms)
    TermFinder(terms).find(passages)


def _compared(page: Made) -> None:
    fingerprint(page.other_chunks, "model")
    compare({chunk.chunk_id: chunk.paragraph_ids for chunk in page.chunks}, page.other_chunks)


def _without_code(page: Made) -> None:
    _chunks(page.book, replace(page.config, exclude=(BlockKind.CODE, BlockKind.TABLE)))


def _strategy(name: StrategyName, page: Made) -> None:
    _chunks(page.book, replace(page.config, strategy=name))


STAGES: Mapping[str, Callable[[Made], object]] = {
    "ids": lambda page: keep_ids(page.book, Ledger()),
    "same ids": lambda page: keep_ids(page.book, page.ledger),
    "edited": lambda page: keep_ids(_changed(page.book), page.ledger),
    "moved": lambda page: keep_ids(_changed(page.book, "other.md"), page.ledger),
    "links": lambda page: page_links(page.book.documents[0]),
    **{name.value: partial(_strategy, name) for name in StrategyName},
    "without code": _without_code,
    "compare": _compared,
    "terms": lambda page: [chunk_vector(chunk, _TERMS.of_document) for chunk in page.chunks],
    "glossary": _glossary_hints,
}
