"""Speed of reading and chunking on real books, beside the minimum possible time.

    python scripts/bench/chunk.py BOOK... [--repeat 3]

CPU seconds of one core, as MB/s of the documents' text in UTF-8: reading a book (blocks with spans,
anchors and ids), reading and chunking it by `structure`, markdown-it-py and tiktoken alone (the
floor), and LangChain's recursive splitter at 512 tokens. The best of the repeats counts; all
alternate, so that other load affects each alike. The garbage collector is off, as in `timeit`.
"""

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from langchain_text_splitters import RecursiveCharacterTextSplitter
from markdown_it import MarkdownIt

from app.adapters.reading.book import read_book
from app.adapters.tokens import token_counter
from app.bootstrap.ingesting import chunk_book
from app.services.ingest_plan import IngestRequest


def read_and_chunk(request: IngestRequest) -> None:
    list(chunk_book(read_book(request), request))


def floor(texts: Sequence[str]) -> None:
    parser, count_tokens = MarkdownIt("commonmark").enable("table"), token_counter()
    for text in texts:
        parser.parse(text)
        count_tokens(text)


def langchain(texts: Sequence[str]) -> None:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=512, chunk_overlap=0, length_function=token_counter()
    )
    for text in texts:
        splitter.split_text(text)


def seconds(work: Callable[[], object]) -> float:
    gc.disable()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(folder: Path, repeat: int) -> None:
    request = IngestRequest(folder)
    book = read_book(request)
    texts = [document.source for document in book.documents]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    work: dict[str, Callable[[], object]] = {
        "read": lambda: read_book(request),
        "read, chunk": lambda: read_and_chunk(request),
        "floor": lambda: floor(texts),
        "langchain": lambda: langchain(texts),
    }
    runs = [{name: seconds(each) for name, each in work.items()} for _ in range(repeat)]
    speeds = [megabytes / min(run[name] for run in runs) for name in work]
    blocks = sum(len(document.blocks) for document in book.documents)
    cells = [folder.name, len(texts), f"{megabytes:.2f}", blocks, *(f"{one:.2f}" for one in speeds)]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| book | files | MB | blocks | read | read, chunk | floor | langchain |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for folder in options.books:
        measure(folder, options.repeat)


if __name__ == "__main__":
    main()
