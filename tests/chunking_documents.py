"""Documents made for tests of chunking: blocks of every kind, as a parser would read them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from app.adapters.langchain_splitters import split_recursively
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.book_id import BookId
from app.domain.chunking.config import ChunkingTools
from app.domain.document import Block, BlockKind, Book, Document, Site

_WORDS = {
    "en": "index term query score vector model page reader sums over each ranked list".split(),
    "de": "Größe Wörter über Straße zählen Bücher natürlich Maß früh könnte läßt".split(),
    "ja": ["検索", "用語", "文書", "索引", "点数", "読者", "本文"],
    "ar": ["بحث", "وثيقة", "فهرس", "قارئ", "نص"],
}
_INLINE = (
    *("e.g. 3.14", "`a.b. C`", "[the docs. More](https://example.org/a.b)"),
    *("$x. Y$", "**Dr. Who**", "see Fig. 3", "😀"),
)


class Made(NamedTuple):
    """A block before it has a place."""

    kind: BlockKind
    text: str
    level: int = 0


@cache
def tools() -> ChunkingTools:
    count = token_counter()
    return ChunkingTools(count, split_sentences, partial(split_recursively, count))


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
    return Made(BlockKind.PARAGRAPH, paragraph(Random(seed), sentences))


def heading(text: str, level: int = 2) -> Made:
    return Made(BlockKind.HEADING, text, level)


def made(kind: BlockKind, size: int, seed: int = 1, language: str = "en") -> Made:
    """Return a block of this kind, whose size counts its items, rows, functions or sentences."""
    random = Random(seed)
    if kind is BlockKind.HEADING:
        text = sentence(random, random.randint(1, 6), language)[:-1]
        return heading(text, random.randint(1, 4))
    return Made(kind, _TEXTS.get(kind, _few)(random, size, language))


def _prose(random: Random, size: int, language: str) -> str:
    text = paragraph(random, size, language)
    return f"{text[:-1]}:" if random.random() < 0.2 else text


def _few(random: Random, size: int, language: str) -> str:
    return paragraph(random, min(size, 4), language)


def _items(random: Random, size: int, language: str) -> str:
    items = [paragraph(random, random.randint(1, 3), language) for _ in range(size)]
    return "\n".join(item.replace("\n", " ") for item in items)


def _rows(random: Random, size: int, language: str) -> str:
    rows = [f"{sentence(random, 4, language)[:-1]} | {random.randrange(99)}" for _ in range(size)]
    return "\n".join(["Term | Count", *rows])


def _functions(random: Random, size: int, language: str) -> str:
    lines: list[str] = []
    for number in range(size):
        lines += [f"def f{number}(x):", f"    return x * {random.randrange(9999)}"]
        lines += [""] * random.randint(0, 1)
    return "\n".join(lines)


def _titled(random: Random, size: int, language: str) -> str:
    """A title, prose and code in a fence, which may be longer than a chunk."""
    code = _functions(random, size * 4, language)
    return "\n\n".join(["Title", paragraph(random, 2, language), f"```python\n{code}\n```"])


_TEXTS: dict[BlockKind, Callable[[Random, int, str], str]] = {
    BlockKind.PARAGRAPH: _prose,
    BlockKind.LIST: _items,
    BlockKind.CODE: _functions,
    BlockKind.TABLE: _rows,
    BlockKind.QUOTE: _items,
    BlockKind.ADMONITION: _titled,
}


def place(blocks: Sequence[Made], file: str = "a.md", language: str = "en") -> Document:
    """Lay the blocks out on one page, whose source is their texts joined by blank lines."""
    placed: list[Block] = []
    path: list[Made] = []
    at = 0
    for number, block in enumerate(blocks):
        if block.level:
            path = [*(one for one in path if one.level < block.level), block]
        placed.append(
            Block(
                block.kind,
                block.text,
                file,
                at,
                at + len(block.text),
                heading_path=tuple(one.text for one in path),
                url=f"https://example.org/{file}",
                paragraph_id=f"p-{file}-{number}",
                level=block.level,
            )
        )
        at += len(block.text) + 2
    source = "\n\n".join(block.text for block in blocks)
    return Document(file, "Title", "Chapter", "", source, tuple(placed), language=language)


def book_of(*documents: Document) -> Book:
    placed = tuple(replace(document, position=at) for at, document in enumerate(documents))
    return Book(BookId("book"), "Book", Site.PLAIN, "", "en", "v1", placed)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    language = draw(st.sampled_from(["en", "en", "de", "ja", "ar"]))
    kinds = st.sampled_from([BlockKind.HEADING, BlockKind.PARAGRAPH, *BlockKind])
    specs = draw(
        st.lists(st.tuples(kinds, st.integers(1, 9), st.integers(0, 999)), min_size=1, max_size=40)
    )
    # One block in ten or so is longer than any chunk.
    longer = ((kind, size * (9 if seed % 10 == 0 else 1), seed) for kind, size, seed in specs)
    return place([made(*one, language) for one in longer], language=language)
