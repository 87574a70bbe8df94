"""The owner's HTTP routes for books: ingest, its state, rollback, removal, the ledger."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import PlainTextResponse

from app.api.ingest_jobs import IngestJob, IngestJobs
from app.api.keys import BEARER, AdminKey, allowed
from app.api.problems import Refused
from app.api.requests import BookName
from app.api.routes import Rag
from app.domain.book_id import BookId
from app.domain.document import Site
from app.domain.errors import InputError
from app.domain.indexed_book import BookManifest
from app.domain.ledger import to_lines
from app.domain.urls import checked_base_url

router = APIRouter(
    prefix="/v1/admin/books/{book}",
    tags=["admin"],
    dependencies=[Depends(BEARER)],
)


async def _own_book(book: BookName, key: AdminKey) -> BookId:
    """Dependency: the book of the path. BookNotAllowed unless the key is valid for it."""
    return allowed(key, book)


OwnBook = Annotated[BookId, Depends(_own_book)]
SiteKind = Annotated[Site | None, Query(description="Detected from the folder unless given.")]
BaseUrl = Annotated[
    str, Query(max_length=2_000, description="URL of the book's site, for the deep links.")
]
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE = {"application/zip": _BYTES, "application/octet-stream": _BYTES}


@router.post(
    "/ingest",
    status_code=202,
    summary="Bring a book up to date",
    openapi_extra={
        "requestBody": {
            "description": "A zip archive of the book's folder, at most 256 MiB.",
            "required": True,
            "content": _ARCHIVE,
        }
    },
)
async def ingest(
    book: OwnBook, request: Request, rag: Rag, base_url: BaseUrl = "", site: SiteKind = None
) -> IngestJob:
    """Ingest the archive in a separate process; until it ends, readers get the old generation.

    The server runs one ingest at a time (409 `index_busy`). The ingest continues if the client
    disconnects. It fails with `invalid_input` if the archive has a link, a device, a name that
    leads outside, too many files or too many bytes. If the server does not know the book yet, it
    imports `textbook-rag-ledger.jsonl` from the top of the archive as the book's ledger.
    """
    if rag.settings.workers > 1:
        raise InputError(
            "this server has several workers, which do not know of each other's ingests: run "
            "`textbook-rag ingest` with the server's RAG_HOME"
        )
    options = [f"--base-url={checked_base_url(base_url)}"]
    options += [f"--site={site}"] if site else []
    jobs: IngestJobs = request.app.state.ingest_jobs
    return await jobs.start(book, request.stream(), options)


@router.get("/ingest", summary="The state of a book's last ingest")
async def state(book: OwnBook, request: Request) -> IngestJob:
    """How far it is, then its report or its error; only ingests since the start of the server are
    known.
    """
    jobs: IngestJobs = request.app.state.ingest_jobs
    found = jobs.last.get(book)
    if found is None:
        detail = f"no ingest of book {book!r} was asked of this server"
        raise Refused(404, "ingest_not_found", detail)
    return found


@router.post("/rollback", summary="Go back to the generation before the last ingest")
async def rollback(book: OwnBook, rag: Rag) -> BookManifest:
    """A second rollback undoes the first."""
    return await rag.index.rollback(book)


@router.delete("", summary="Remove a book from the index", status_code=204)
async def remove(book: OwnBook, rag: Rag) -> None:
    """Its logged questions and its ledger are kept; the next ingest continues the ledger."""
    await rag.index.remove(book)
    await asyncio.to_thread(rag.pages.remove, book)


@router.get("/ledger", summary="A book's paragraph ids", response_class=PlainTextResponse)
async def ledger(book: OwnBook, rag: Rag) -> Response:
    """The output of `textbook-rag links BOOK --ledger`, to keep in the book's repository."""
    found = await rag.ledgers.load(book)
    if not found.entries:
        raise Refused(404, "book_not_found", f"there is no ledger of book {book!r}")
    text = "".join(f"{line}\n" for line in to_lines(found))
    return PlainTextResponse(text, media_type="application/jsonl")
