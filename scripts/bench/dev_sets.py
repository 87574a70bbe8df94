"""The development books and question sets, indexed once into their own folder."""

import argparse
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.bootstrap.application import Application, application
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Site
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class DevSet:
    """A book and, unless `questions` is empty, its questions; paths are relative to the data."""

    book: BookId
    folder: str
    questions: str = ""
    exclude: frozenset[BlockKind] = frozenset()
    """Kinds that contain the answers to the questions themselves."""
    site: Site | None = Site.PLAIN
    """None: detected from the folder."""


_ANSWER_KINDS = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY})
_CORPORA = ("xquad-en", "clapnq-dev", "fairytaleqa-val", "chroma-dev", "mtrag-un-dev")
DEV_SETS = (
    DevSet(BookId("openstax-biology"), "books/openstax-biology", "openstax-biology", _ANSWER_KINDS),
    DevSet(
        BookId("rust-book-quizzes"),
        "books/rust-book-quizzes",
        "rust-book-quizzes",
        site=Site.MDBOOK,
    ),
    DevSet(BookId("hf-course"), "books/hf-course", "hf-course-quizzes"),
    DevSet(BookId("redux-docs"), "books/redux-docs", site=Site.DOCUSAURUS),
    *(DevSet(BookId(name), f"qa/{name}/corpus", name) for name in _CORPORA),
)
SAMPLE = DevSet(BookId("sample"), str(ROOT / "app/sample_book"), "sample")
"""The book that is part of the program; its questions are in `tests/data`."""


def dev_sets_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser for the folders of the development data and of its index."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--home", type=Path, required=True, help="where the index is kept")
    return parser


@asynccontextmanager
async def indexed(
    data: Path, home: Path, sets: Sequence[DevSet] = DEV_SETS
) -> AsyncIterator[Application]:
    """Open an index of the dev sets, made with a local model, with extractive answers."""
    settings = Settings(home=home, embedder="local", generator="extractive")
    async with application(settings) as app:
        for one in sets:
            print(f"indexing {one.book} ...", flush=True)
            request = IngestRequest(
                data / one.folder, book=one.book, site=one.site, exclude_kinds=one.exclude
            )
            await app.ingest.run(request, Phases())
        yield app
