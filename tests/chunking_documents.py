"""Documents made for tests of chunking: blocks of every kind, as a parser would read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from hypothesis import strategies as st

from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.book_id import BookId
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Book, Document, Site

_WORDS = {
    "en": "index term query score vector model page reader sums over each ranked list".split(),
    "de": "Größe Wörter über Straße zählen Bücher natürlich Maß früh könnte läßt".split(),
    "ja": ["検索", "用語", "文書", "索引", "点数", "読者", "本文"],
    "ar": ["بحث", "وثيقة", "فهرس", "قارئ", "نص"],
}
_INLINE = [
    "e.g. 3.14",
    "`a.b. C`",
    "[the docs. More](https://example.org/a.b)",
    "$x. Y$",
    "**Dr. Who**",
    "see Fig. 3",
    "😀",
]


@dataclass(frozen=True)
class Made:
    """A block before it has a place: its source, what a reader sees, where it may be cut."""

    kind: BlockKind
    raw: str
    text: str
    level: int = 0


@cache
def tools() -> ChunkingTools:
    return ChunkingTools(token_counter(), split_sentences)


def sentence(random: Random, words: int, language: str = "en") -> str:
    vocabulary = _WORDS[language]
    chosen = [random.choice(vocabulary) for _ in range(words)]
    if random.random() < 0.4:
        chosen.insert(random.randrange(len(chosen) + 1), random.choice(_INLINE))
    if language == "ja":
        return "".join(chosen) + "。"
    text = " ".join(chosen)
    return text[0].upper() + text[1:] + random.choice(".!?.")


def paragraph(random: Random, sentences: int, language: str = "en") -> str:
    made = [sentence(random, random.randint(3, 24), language) for _ in range(sentences)]
    return ("" if language == "ja" else random.choice((" ", "\n"))).join(made)


def prose(sentences: int, seed: int = 1) -> Made:
    text = paragraph(Random(seed), sentences)
    return Made(BlockKind.PARAGRAPH, text, text)


def heading(text: str, level: int = 2) -> Made:
    return Made(BlockKind.HEADING, "#" * level + " " + text, text, level=level)


def _heading(random: Random, size: int, language: str) -> Made:
    level = random.randint(1, 4)
    text = sentence(random, random.randint(1, 6), language)[:-1]
    return heading(text, level)


def _paragraph(random: Random, size: int, language: str) -> Made:
    text = paragraph(random, size, language)
    if random.random() < 0.2:
        text = text[:-1] + ":"
    return Made(BlockKind.PARAGRAPH, text, text)


def _list(random: Random, size: int, language: str) -> Made:
    items = [paragraph(random, random.randint(1, 3), language) for _ in range(size)]
    text = "\n".join(item.replace("\n", " ") for item in items)
    return Made(BlockKind.LIST, "- " + text.replace("\n", "\n- "), text)


def _table(random: Random, size: int, language: str) -> Made:
    rows = [f"{sentence(random, 4, language)[:-1]} | {random.randrange(99)}" for _ in range(size)]
    text = "\n".join(["Term | Count", *rows])
    return Made(BlockKind.TABLE, text.replace("\n", "\n--- | ---\n", 1), text)


def _code(random: Random, size: int, language: str) -> Made:
    lines: list[str] = []
    for number in range(size):
        lines += [f"def f{number}(x):", f"    return x * {random.randrange(9999)}"]
        lines += [""] * random.randint(0, 1)
    code = "\n".join(lines)
    return Made(BlockKind.CODE, f"```python\n{code}\n```", code)


def _plain(kind: BlockKind, before: str = "", after: str = "") -> _Maker:
    def make(random: Random, size: int, language: str) -> Made:
        text = paragraph(random, min(size, 4), language)
        return Made(kind, before + text + after, text)

    return make


def _quote(random: Random, size: int, language: str) -> Made:
    lines = [paragraph(random, 2, language).replace("\n", " ") for _ in range(size)]
    text = "\n".join(lines)
    return Made(BlockKind.QUOTE, "> " + text.replace("\n", "\n> "), text)


def _admonition(random: Random, size: int, language: str) -> Made:
    """A title, prose and code in a fence, which may be longer than a chunk."""
    prose, code = paragraph(random, 2, language), _code(random, size * 4, language).text
    text = "\n\n".join(["Title", prose, f"```python\n{code}\n```"])
    return Made(BlockKind.ADMONITION, text, text)


_Maker = Callable[[Random, int, str], Made]
MAKERS: dict[BlockKind, _Maker] = {
    BlockKind.HEADING: _heading,
    BlockKind.PARAGRAPH: _paragraph,
    BlockKind.LIST: _list,
    BlockKind.CODE: _code,
    BlockKind.TABLE: _table,
    BlockKind.QUOTE: _quote,
    BlockKind.ADMONITION: _admonition,
    BlockKind.MATH: _plain(BlockKind.MATH, "$$\n", "\n$$"),
    BlockKind.FIGURE: _plain(BlockKind.FIGURE, "![", "](a.png)"),
    BlockKind.GLOSSARY_ENTRY: _plain(BlockKind.GLOSSARY_ENTRY),
    BlockKind.EXERCISE: _plain(BlockKind.EXERCISE),
    BlockKind.SOLUTION: _plain(BlockKind.SOLUTION),
    BlockKind.FOOTNOTE: _plain(BlockKind.FOOTNOTE, "[^1]: "),
}


def place(
    made: Sequence[Made], gaps: Sequence[str] = (), file: str = "a.md", language: str = "en"
) -> Document:
    """Lay the blocks out in one file, with `gaps` (or blank lines) between them."""
    source = ""
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []
    for number, block in enumerate(made):
        if block.level:
            path = [entry for entry in path if entry[0] < block.level]
            path.append((block.level, block.text))
        start = len(source)
        source += block.raw
        blocks.append(
            Block(
                kind=block.kind,
                text=block.text,
                file=file,
                start=start,
                end=len(source),
                heading_path=tuple(text for _, text in path),
                url=f"https://example.org/{file}",
                paragraph_id=f"p-{file}-{number}",
                level=block.level,
            )
        )
        source += gaps[number % len(gaps)] if gaps else "\n\n"
    return Document(file, "Title", "Chapter", "", source, tuple(blocks), language=language)


def book_of(*documents: Document) -> Book:
    placed = tuple(replace(document, position=at) for at, document in enumerate(documents))
    return Book(BookId("book"), "Book", Site.PLAIN, "", "en", "v1", placed)


@st.composite
def documents(draw: st.DrawFn, file: str = "a.md") -> Document:
    language = draw(st.sampled_from(["en", "en", "de", "ja", "ar"]))
    kinds = st.sampled_from([BlockKind.HEADING, BlockKind.PARAGRAPH, *MAKERS])
    specs = draw(
        st.lists(st.tuples(kinds, st.integers(1, 9), st.integers(0, 999)), min_size=1, max_size=40)
    )
    # One block in ten or so is longer than any chunk.
    made = [
        MAKERS[kind](Random(seed), size * (9 if seed % 10 == 0 else 1), language)
        for kind, size, seed in specs
    ]
    gap = st.sampled_from(["\n\n", "\n\n", "\r\n\r\n", "\n\n{: .note}\n\n", "\n\n\n  \n", "\n"])
    return place(made, draw(st.lists(gap, min_size=1, max_size=5)), file, language)
