"""Opens everything that is stored, to check it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.bootstrap.key_store import site_keys
from app.bootstrap.question_logging import question_store
from app.bootstrap.storage import ledger_store, open_index
from app.services.verify import VerifyBooks
from app.settings import Settings


@asynccontextmanager
async def verifying(settings: Settings) -> AsyncIterator[VerifyBooks]:
    """Open index, ledgers, cache, keys and question log, without an embedder."""
    shared = {
        "cache": SqliteEmbeddingCache(settings.home / "embeddings.sqlite").faults,
        "keys": site_keys(settings).faults,
        "question log": question_store(settings).faults,
    }
    async with open_index(settings) as index:
        yield VerifyBooks(index, ledger_store(settings), shared)
