"""The owner's pages at `/admin`: the report on the question log, as HTML without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse

from app.api.keys import AdminKey, allowed
from app.api.report_formats import page_policy, report_html, report_json
from app.api.requests import BookName
from app.api.routes import Rag
from app.bootstrap.application import Application
from app.domain.book_id import BookId
from app.domain.errors import NO_BOOKS, AnswerNotFound, BookNotFound
from app.domain.owner_report import OwnerReport
from app.domain.site_key import SiteKey

router = APIRouter(prefix="/admin", include_in_schema=False)

Days = Annotated[int, Query(ge=1, le=366)]


async def _report(
    key: AdminKey, rag: Rag, book: BookName | None = None, days: Days = 30
) -> OwnerReport:
    """Dependency: the report on the book or, without one, on the first book of the key."""
    if rag.reports is None:
        message = "the question log is off (RAG_QUESTION_LOG_DAYS)"
        raise AnswerNotFound(message)
    if rag.question_log:
        await rag.question_log.written()
    since = datetime.now(UTC) - timedelta(days=days)
    books = [allowed(key, book)] if book else await _books(key, rag)
    if not books:
        raise BookNotFound(NO_BOOKS)
    return await rag.reports.run(books[0], since)


async def _books(key: SiteKey, rag: Application) -> Sequence[BookId]:
    found = await rag.index.books()
    return [book for book in found if not key.books or book in key.books]


Report = Annotated[OwnerReport, Depends(_report)]


@router.get("")
async def page(report: Report, key: AdminKey, rag: Rag, days: Days = 30) -> Response:
    books = await _books(key, rag)
    headers = {"Content-Security-Policy": page_policy()}
    return HTMLResponse(report_html(report, books=books, days=days), headers=headers)


@router.get("/report.json")
async def as_json(report: Report) -> Response:
    return Response(report_json(report), media_type="application/json")
