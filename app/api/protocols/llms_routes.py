"""`llms.txt` and `llms-full.txt` of each book (https://llmstxt.org)."""

from __future__ import annotations

from hashlib import sha256

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from app.api.keys import BEARER, books_for
from app.api.requests import BookName
from app.api.routes import Rag, problems
from app.domain.printable import printable

router = APIRouter(
    tags=["protocols"],
    default_response_class=PlainTextResponse,
    responses=problems(401, 403, 404, 422, 503),
    dependencies=[Depends(BEARER)],
)


@router.get("/v1/books/{book}/llms.txt", summary="A book's contents for language models")
async def short(book: BookName, request: Request, rag: Rag) -> Response:
    """The chapters, and each page with its address and the beginning of its text, as Markdown."""
    (asked,) = books_for(request, book)
    return _text(request, await rag.describe.short_text(asked))


@router.get("/v1/books/{book}/llms-full.txt", summary="A book's text for language models")
async def full(book: BookName, request: Request, rag: Rag) -> Response:
    """Every paragraph once, in reading order, below its headings, as Markdown."""
    (asked,) = books_for(request, book)
    return _text(request, await rag.describe.full_text(asked))


def _text(request: Request, text: str) -> Response:
    content = printable(text).encode()
    headers = {"ETag": f'"{sha256(content).hexdigest()[:16]}"', "Cache-Control": "no-cache"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return PlainTextResponse(content, headers=headers)
