"""Opens the stores that the settings choose, and checks what is stored and the disk."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from app.adapters.book_pages import BookContents, BookPages, PageEntry
from app.adapters.qdrant.disk import disk_fault
from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.sqlite.question_log import SqliteQuestionLog
from app.adapters.sqlite.site_keys import SqliteSiteKeys
from app.bootstrap.providers import similarity_encoder
from app.domain.book_id import BookId
from app.domain.errors import StorageError
from app.services.ports import BookStore
from app.services.question_log import QuestionLog, ReportQuestions
from app.settings import Settings

__all__ = ["BookContents", "BookPages", "PageEntry"]

SiteKeys: TypeAlias = SqliteSiteKeys


@asynccontextmanager
async def open_index(settings: Settings) -> AsyncIterator[BookStore]:
    """Open the index alone, without an embedder, for commands that do not search."""
    url = settings.qdrant_url
    if not url:
        yield EdgeIndex(settings.home)
        return
    # The import takes 1 s, so it is delayed until a server is used.
    from app.adapters.qdrant.server import ServerIndex  # noqa: PLC0415
    from app.adapters.qdrant.server_client import server_client  # noqa: PLC0415

    key = settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
    client = server_client(url, key, grpc_port=settings.qdrant_grpc_port)
    try:
        prefix = settings.qdrant_collection_prefix
        yield ServerIndex(client, prefix, url, settings.qdrant_replicas)
    finally:
        await client.close()


def ledger_store(settings: Settings) -> SqliteLedgers:
    return SqliteLedgers(settings.home / "ledger")


def book_pages(settings: Settings) -> BookPages:
    """Return the pages of books without a site, which `serve` shows at `address_of`."""
    return BookPages(settings.home / "pages")


def address_of(book: BookId) -> str:
    """Return the path of a book's pages on this server."""
    return f"/pages/{book}"


def site_keys(settings: Settings) -> SiteKeys:
    return SqliteSiteKeys(settings.home / "keys.sqlite")


def question_store(settings: Settings) -> SqliteQuestionLog:
    return SqliteQuestionLog(settings.home / "questions.sqlite")


@asynccontextmanager
async def question_log(settings: Settings) -> AsyncIterator[QuestionLog | None]:
    """Open the question log; None if it is off. Pending entries are written at the end."""
    if not settings.question_log_days:
        yield None
        return
    log = QuestionLog(question_store(settings), settings.question_log_days)
    try:
        yield log
    finally:
        await log.written()


@asynccontextmanager
async def reports(settings: Settings) -> AsyncIterator[ReportQuestions]:
    """Open the question log and the index for a report."""
    async with open_index(settings) as index:
        yield ReportQuestions(
            store=question_store(settings),
            index=index,
            similarity=await similarity_encoder(),
        )


def require_home(settings: Settings) -> None:
    """StorageError if the folder of all local state can be neither made nor written."""
    home = settings.home.absolute()
    there = next(path for path in (home, *home.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise StorageError(f"{there}: not a folder that can be written; check RAG_HOME")


async def index_faults(index: BookStore) -> dict[str, str]:
    """Return what is damaged by part, "index" or a book, and what answers instead of the book."""
    found = {}
    try:
        await index.check()
    except StorageError as error:
        found["index"] = f"no book can answer: {error}"
    for book, damage in (await index.damaged()).items():
        served = "the previous generation answers" if damage.answers else "the book is left out"
        found[f"book {book}"] = f"{served}; see `textbook-rag verify`: {damage.reason}"
    return found


@dataclass(frozen=True, slots=True)
class Disk:
    free: int
    """Free bytes."""
    fault: str
    """Why the index cannot be opened in place, such as a full disk, and what follows; else ""."""


def disk_of(settings: Settings) -> Disk:
    """Return the disk of RAG_HOME; the folder need not exist yet."""
    home = settings.home
    there = next(path for path in (home, *home.absolute().parents) if path.is_dir())
    fault = "" if settings.qdrant_url or there != home else disk_fault(home)
    if fault:
        fault += ": nothing can be ingested, and the index is searched in a temporary copy"
    return Disk(shutil.disk_usage(there).free, fault)
