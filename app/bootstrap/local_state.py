"""Opens what is kept besides the index: keys, question log; and checks all that is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from app.adapters.local_embedder import inner_products
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.sqlite.question_log import SqliteQuestionLog
from app.adapters.sqlite.site_keys import SqliteSiteKeys
from app.bootstrap.providers import local_embedder
from app.bootstrap.storage import ledger_store, open_index
from app.domain.book_id import BookId
from app.services.question_log import QuestionLog, ReportQuestions
from app.services.similarity import SimilarityEncoder
from app.services.verify import Verified, verify
from app.settings import Settings

SiteKeys: TypeAlias = SqliteSiteKeys


def site_keys(settings: Settings) -> SiteKeys:
    """Return the keys that may use the API."""
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
            similarity=SimilarityEncoder(await local_embedder(), inner_products),
        )


async def verified(settings: Settings, books: Sequence[BookId]) -> list[Verified]:
    """Check these books or all, and what all books share, without an embedder. BookNotFound."""
    shared = {
        "cache": SqliteEmbeddingCache(settings.home / "embeddings.sqlite").faults,
        "keys": site_keys(settings).faults,
        "question log": question_store(settings).faults,
    }
    async with open_index(settings) as index:
        return [one async for one in verify(index, ledger_store(settings), shared, books)]
