"""The question log for commands, whether or not a server writes it now."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.bootstrap.question_log import question_reports, question_store
from app.bootstrap.storage import index_only
from app.services.report_questions import ReportQuestions
from app.settings import Settings


@asynccontextmanager
async def reports(settings: Settings) -> AsyncIterator[ReportQuestions]:
    """Open the log and the index."""
    store = question_store(settings)
    try:
        async with index_only(settings) as index:
            yield question_reports(store, index)
    finally:
        store.close()
