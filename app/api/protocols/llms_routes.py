"""`llms.txt` and `llms-full.txt` of each book (https://llmstxt.org), and its pages as Markdown."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import PlainTextResponse

from app.api.keys import BEARER, books_for
from app.api.problems import Refused
from app.api.requests import BookName
from app.api.routes import Rag, problems
from app.domain.characters import printable

PagePath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=2_000,
        description="Path of the page below the book's address, without `.html`; `index` for the "
        "address itself.",
        examples=["01-why-search"],
    ),
]

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


@router.get("/v1/books/{book}/pages/{page:path}.md", summary="A page's text as Markdown")
async def page(book: BookName, page: PagePath, request: Request, rag: Rag) -> Response:
    """Every paragraph of the page once, below its headings."""
    (asked,) = books_for(request, book)
    text = await rag.describe.page_text(asked, page)
    if not text:
        raise Refused(404, "page_not_found", f"no such page in book {book!r}: {page!r}")
    return _text(request, text, "text/markdown")


def _text(request: Request, text: str, media_type: str = "text/plain") -> Response:
    content = printable(text).encode()
    headers = {"ETag": f'"{sha256(content).hexdigest()[:16]}"', "Cache-Control": "no-cache"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return PlainTextResponse(content, headers=headers, media_type=media_type)
