"""Speed of parse + chunk + ids beside other chunkers and the floor, on the same files, in one run.

    python scripts/bench/chunk.py BOOK... [--repeat 3]

One core. Prints CPU seconds and MB/s of UTF-8 source for: our structure strategy, from files to
chunks with ids; the floor, which is one markdown-it-py parse and one tiktoken pass; and each of
semantic-text-splitter (Markdown), LangChain's recursive splitter (tiktoken), chonkie's recursive
and semchunk that is installed (`pip install semantic-text-splitter chonkie semchunk`), 512 tokens,
no overlap. The best of the repeats counts; all take turns, so that other load hits each alike.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tiktoken
from langchain_text_splitters import RecursiveCharacterTextSplitter
from markdown_it import MarkdownIt

from app.adapters.markdown import read_book
from app.adapters.sentences import split_sentences
from app.adapters.tokens import token_counter
from app.domain.chunking import ChunkingConfig, ChunkingTools, chunk_document

SIZE = 512
Work = Callable[[], int]


def structure(folder: Path, tools: ChunkingTools) -> int:
    book = read_book(folder)
    config = ChunkingConfig()
    return sum(len(chunk_document(each, book, config, tools)) for each in book.documents)


def floor(texts: Sequence[str], tools: ChunkingTools) -> int:
    parser = MarkdownIt("commonmark").enable("table")
    return sum(len(parser.parse(text)) and tools.count_tokens(text) for text in texts)


def peers(texts: Sequence[str], tools: ChunkingTools) -> Iterator[tuple[str, Work]]:
    """Those that are installed, set up before the clock starts."""
    langchain = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        "cl100k_base", chunk_size=SIZE, chunk_overlap=0, disallowed_special=()
    )
    yield "langchain recursive", lambda: sum(len(langchain.split_text(text)) for text in texts)
    if importlib.util.find_spec("semantic_text_splitter"):
        module = importlib.import_module("semantic_text_splitter")
        rust = module.MarkdownSplitter.from_tiktoken_model("gpt-4", SIZE)
        yield "semantic-text-splitter", lambda: sum(len(rust.chunks(text)) for text in texts)
    if importlib.util.find_spec("semchunk"):
        module = importlib.import_module("semchunk")
        # It would remember the counts of the run before.
        semchunk = module.chunkerify(tools.count_tokens, SIZE, memoize=False)
        yield "semchunk", lambda: sum(len(semchunk(text)) for text in texts)
    if importlib.util.find_spec("chonkie"):
        module = importlib.import_module("chonkie")
        chonkie = module.RecursiveChunker(tiktoken.get_encoding("cl100k_base"), chunk_size=SIZE)
        yield "chonkie recursive", lambda: sum(len(chonkie.chunk(text)) for text in texts)


def seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("books", nargs="+", type=Path)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    tools = ChunkingTools(token_counter(), split_sentences)
    for folder in options.books:
        texts = [document.source for document in read_book(folder).documents]
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        rows: dict[str, Work] = {
            "structure (parse + chunk + ids)": lambda folder=folder: structure(folder, tools),  # type: ignore[misc]
            "  of it: parse": lambda folder=folder: len(read_book(folder).documents),  # type: ignore[misc]
            "floor (parse + tokenise)": lambda texts=texts: floor(texts, tools),  # type: ignore[misc]
            **dict(peers(texts, tools)),
        }
        best = dict.fromkeys(rows, float("inf"))
        for _ in range(options.repeat):
            for name, work in rows.items():
                best[name] = min(best[name], seconds(work))
        print(f"{folder.name}: {len(texts)} files, {megabytes:.2f} MB")
        for name, spent in best.items():
            print(f"  {name:34} {spent:7.2f} s {megabytes / spent:7.2f} MB/s")


if __name__ == "__main__":
    main()
