"""Speed and integrity of chunkers on real books: ours, others', and the minimum possible time.

    python scripts/bench/chunk.py BOOK... [--repeat 3] [--integrity]

One core, one run, CPU seconds, MB/s of UTF-8 source. Ours is the structure strategy from files to
chunks with ids; the floor is one markdown-it-py parse and one tiktoken pass. Others run if they are
installed (`scripts/setup bench`), with 512 tokens and no overlap; missing ones are named. The best
of the repeats counts; all alternate, so that other load affects each alike. The cyclic garbage
collector is off during the measurement, as in `timeit`: ours pauses it anyway, and a book in memory
would slow down the others.

Broken: the share of code blocks, tables and lists of at most 512 tokens that no chunk contains
whole. A second row of ours has the others' size, at most 512 tokens without overlap. `--integrity`
runs each once, and prints one table of these shares with a column for each book.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import tiktoken
from langchain_text_splitters import (
    Language,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
)
from markdown_it import MarkdownIt

from app.adapters.reading.book import read_book
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.chunking.config import ChunkingConfig, PackingConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.chunking.tools import ChunkingTools
from app.domain.document import BlockKind, Book

SIZE = 512
KINDS = (BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST)
Texts = list[list[str]]
"""The chunk texts of each file."""


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    run: Callable[[Sequence[str]], Texts]
    splits: bool = True
    source: bool = True
    """Whether its chunks are Markdown source; ours are the text of blocks."""


def ours(folder: Path, tools: ChunkingTools, config: ChunkingConfig) -> Texts:
    tools = replace(tools)  # They would cache the counts of the previous run.
    book = read_book(folder)
    return [
        [chunk.text_content for chunk in stream_chunks(document, book, config, tools)]
        for document in book.documents
    ]


def floor(texts: Sequence[str], tools: ChunkingTools) -> Texts:
    parser = MarkdownIt("commonmark").enable("table")
    for text in texts:
        parser.parse(text)
        tools.count_tokens(text)
    return []


def each(split: Callable[[str], Sequence[str]]) -> Callable[[Sequence[str]], Texts]:
    return lambda texts: [list(split(text)) for text in texts]


def langchain(tools: ChunkingTools) -> Iterator[Contender]:
    sizes = {"chunk_size": SIZE, "chunk_overlap": 0, "length_function": tools.count_tokens}
    plain = RecursiveCharacterTextSplitter(**sizes)  # type: ignore[arg-type]
    marked = RecursiveCharacterTextSplitter.from_language(Language.MARKDOWN, **sizes)
    headings = MarkdownHeaderTextSplitter([("#" * n, str(n)) for n in range(1, 5)])

    def by_heading(text: str) -> list[str]:
        return [part.page_content for part in plain.split_documents(headings.split_text(text))]

    yield Contender("langchain recursive", each(plain.split_text))
    yield Contender("langchain recursive, markdown", each(marked.split_text))
    yield Contender("langchain heading + recursive", each(by_heading))


def others(tools: ChunkingTools) -> Iterator[Contender]:
    """The installed chunkers, set up before the measurement starts."""
    yield from langchain(tools)
    if _installed("semantic_text_splitter"):
        module = importlib.import_module("semantic_text_splitter")
        rust = module.MarkdownSplitter.from_tiktoken_model("gpt-4", SIZE)
        yield Contender("semantic-text-splitter", each(rust.chunks))
    if _installed("semchunk"):
        module = importlib.import_module("semchunk")
        # It would cache the counts of the previous run.
        semchunk = module.chunkerify(tools.count_tokens, SIZE, memoize=False)
        yield Contender("semchunk", each(semchunk))
    if _installed("chonkie"):
        module = importlib.import_module("chonkie")
        adapter = importlib.import_module("chonkie.tokenizer").TiktokenAutoTokenizer
        chonkie = module.RecursiveChunker(adapter(Ordinary()), chunk_size=SIZE)
        yield Contender("chonkie recursive", each(lambda text: [c.text for c in chonkie(text)]))


@cache
def _installed(module: str) -> bool:
    """Whether a peer is installed; reports a missing one once on stderr."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{module} is not installed: left out", file=sys.stderr)
    return found


class Ordinary:
    """tiktoken without special tokens, because books about tokenizers contain them as text."""

    def __init__(self) -> None:
        encoding = tiktoken.get_encoding("cl100k_base")
        self.encode = encoding.encode_ordinary
        self.decode = encoding.decode
        self.decode_batch = encoding.decode_batch


def solid(text: str) -> str:
    """Without blanks: some splitters change them."""
    return "".join(text.split())


def broken(book: Book, chunks: Texts, tools: ChunkingTools, source: bool) -> Iterator[str]:
    """For each kind, the share of blocks of at most SIZE tokens that no chunk contains whole."""
    whole = dict.fromkeys(KINDS, 0)
    total = dict.fromkeys(KINDS, 0)
    for document, texts in zip(book.documents, chunks, strict=True):
        solid_texts = [solid(text) for text in texts]
        for block in document.blocks:
            raw = document.source[block.start : block.end].strip()
            if block.kind in total and raw and tools.count_tokens(raw) <= SIZE:
                total[block.kind] += 1
                wanted = solid(raw if source else block.text)
                whole[block.kind] += any(wanted in text for text in solid_texts)
    for kind in KINDS:
        share = (total[kind] - whole[kind]) / total[kind] if total[kind] else 0.0
        yield f"{share:7.1%}" if total[kind] else "      -"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("books", nargs="+", type=Path)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument(
        "--integrity", action="store_true", help="only the table of broken blocks"
    )
    options = arguments.parse_args()
    tools = ChunkingTools(token_counter(), split_sentences)
    if options.integrity:
        integrity(options.books, tools)
        return
    for folder in options.books:
        measure(folder, tools, options.repeat)


def contenders_for(folder: Path, tools: ChunkingTools) -> list[Contender]:
    small = ChunkingConfig(structure=PackingConfig(high=450, maximum=SIZE, overlap=0))
    return [
        Contender("structure", lambda _: ours(folder, tools, ChunkingConfig()), source=False),
        Contender("structure, 512 tokens", lambda _: ours(folder, tools, small), source=False),
        Contender("  of it: parse", lambda _: [[] for _ in read_book(folder).documents], False),
        Contender("floor: parse + tokenise", lambda texts: floor(texts, tools), False),
        *others(tools),
    ]


def integrity(folders: Sequence[Path], tools: ChunkingTools) -> None:
    """Print, as a Markdown table, the broken shares of code / table / list by book."""
    rows: dict[str, list[str]] = {}
    for folder in folders:
        book = read_book(folder)
        texts = [str(document.source) for document in book.documents]
        for contender in contenders_for(folder, tools):
            if contender.splits:
                shares = broken(book, contender.run(texts), tools, contender.source)
                cell = " / ".join(share.strip() for share in shares)
                rows.setdefault(contender.name, []).append(cell)
    kinds = " / ".join(kind.value for kind in KINDS)
    print(f"Broken {kinds} of at most {SIZE} tokens\n")
    print(f"| chunker | {' | '.join(folder.name for folder in folders)} |")
    print("|---" * (len(folders) + 1) + "|")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def timed(contender: Contender, texts: Sequence[str]) -> tuple[float, Texts]:
    """Return CPU seconds and chunks of one run, with the garbage collector off."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        result = contender.run(texts)
        return time.process_time() - start, result
    finally:
        gc.enable()


def measure(folder: Path, tools: ChunkingTools, repeat: int) -> None:
    book = read_book(folder)
    texts = [str(document.source) for document in book.documents]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    contenders = contenders_for(folder, tools)
    best = dict.fromkeys((contender.name for contender in contenders), float("inf"))
    results: dict[str, Texts] = {}
    for _ in range(repeat):
        for contender in contenders:
            spent, results[contender.name] = timed(contender, texts)
            best[contender.name] = min(best[contender.name], spent)
    print(f"\n{folder.name}: {len(texts)} files, {megabytes:.2f} MB")
    kinds = "".join(f"{kind.value:>8}" for kind in KINDS)
    print(f"{'':32}{'s':>7}{'MB/s':>7}{'chunks':>8}   broken:{kinds}")
    for contender in contenders:
        spent = best[contender.name]
        line = f"{contender.name:32}{spent:7.2f}{megabytes / spent:7.2f}"
        if contender.splits:
            chunks = results[contender.name]
            line += f"{sum(map(len, chunks)):8}           " + " ".join(
                broken(book, chunks, tools, contender.source)
            )
        print(line)


if __name__ == "__main__":
    main()
