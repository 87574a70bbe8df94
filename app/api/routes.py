"""The routes of the API: they convert the request, call a use case, convert the result."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse

from app.api.asking import answered, searched, streamed, while_connected
from app.api.events import MEDIA_TYPE, chat_events
from app.api.keys import BEARER, books_for
from app.api.limits import answering
from app.api.problems import Refused, documented
from app.api.requests import BookName, ChatRequest, FeedbackRequest, SearchRequest
from app.api.responses import (
    BooksBody,
    ExerciseBody,
    GlossaryBody,
    HitBody,
    SearchBody,
    SuggestionsBody,
    json_text,
)
from app.bootstrap.application import Application
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.characters import printable
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.edition import Edition
from app.domain.errors import AnswerNotFound
from app.domain.indexed_book import BookManifest
from app.domain.logged_answer import Feedback
from app.domain.page_markdown import page_markdown
from app.domain.retrieval.context_assembly import paragraphs_of
from app.domain.retrieval.query import SearchFilter
from app.domain.urls import encoded_path, encoded_url
from app.services.book_scope import find_page
from app.services.page_suggestions import page_suggestions


class PrintableResponse(JSONResponse):
    def render(self, content: object) -> bytes:
        return json_text(content).encode()


# A coroutine, since FastAPI runs a plain function in a thread.
async def get_application(request: Request) -> Application:
    application: Application = request.app.state.application
    return application


Rag = Annotated[Application, Depends(get_application)]
PageAddress = Annotated[
    str,
    Query(
        min_length=1,
        max_length=2_000,
        description="The page's URL or its path; query and fragment are ignored.",
        examples=["/pages/small-book-of-search/03-inverted-index/01-building.html"],
    ),
]
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

_ANSWER = {"$ref": "#/components/schemas/Answer"}
"""The schema takes long to make: `app.main` adds it to the description when that is asked for."""

router = APIRouter(prefix="/v1", dependencies=[Depends(BEARER)])
open_router = APIRouter()
"""Routes that need no key."""


@router.post(
    "/chat",
    tags=["answers"],
    summary="Ask a question",
    responses={
        200: {
            "description": "The answer; as events when `stream` is true or asked for by `Accept`: "
            "`start`, `sources`, then `delta` and `citation`, then `end` with the answer; or, at "
            "any point, `error`.",
            "content": {"application/json": {"schema": _ANSWER}, MEDIA_TYPE: {}},
        },
    },
    dependencies=[Depends(answering)],
)
async def chat(body: ChatRequest, request: Request) -> Response:
    """Answer from the book. Each claim has a citation with a link to its paragraph."""
    if body.stream or MEDIA_TYPE in request.headers.get("accept", ""):
        return await streamed(body, request, chat_events)
    return PrintableResponse(await answered(body, request))


@router.post(
    "/search", tags=["answers"], summary="Search without answering", response_model=SearchBody
)
async def search(body: SearchRequest, request: Request) -> Response:
    """Find the chunks of the book that are nearest to the question."""
    books = SearchFilter(books=books_for(request, body.book))
    asked = AskRequest(body.question, books, k=body.k, page_url=body.page_url)
    result = await while_connected(request, searched(asked, request))
    hits = [HitBody.of(hit) for hit in result.hits]
    return PrintableResponse({"hits": hits, "degraded": result.degraded})


@router.get("/books", tags=["books"], summary="The books of the index")
async def books(request: Request, rag: Rag) -> BooksBody:
    """The books that may be asked with the key."""
    return await BooksBody.of(rag, books_for(request, None))


@router.get("/glossary", tags=["books"], summary="The glossary's terms on a page")
async def glossary(
    page: PageAddress, request: Request, rag: Rag, book: BookName | None = None
) -> GlossaryBody:
    """The terms on the page, each with its definition and the link to it in the book."""
    manifest, chunks = await _page(page, book, request, rag)
    terms = await rag.glossary.on_page(chunks, manifest)
    return GlossaryBody(book=manifest.book, terms=terms)


@router.get("/suggestions", tags=["books"], summary="What a reader of a page can ask")
async def suggest(
    page: PageAddress, request: Request, rag: Rag, book: BookName | None = None
) -> SuggestionsBody:
    """Questions about the page's terms and sections, and its exercises."""
    manifest, chunks = await _page(page, book, request, rag)
    tasks = [one for _, one in paragraphs_of(chunks) if one.kind is BlockKind.EXERCISE]
    return SuggestionsBody(
        book=manifest.book,
        questions=await asyncio.to_thread(page_suggestions, chunks, rag.lexical),
        exercises=[ExerciseBody(paragraph_id=one.paragraph_id, text=one.text) for one in tasks],
    )


@router.get(
    "/books/{book}/pages/{path:path}.md",
    tags=["books"],
    summary="A page's text as Markdown",
    response_class=PlainTextResponse,
)
async def page_as_markdown(book: BookName, path: PagePath, request: Request, rag: Rag) -> Response:
    """Every paragraph of the page once, below its headings."""
    found = (await rag.index.books()).get(book)
    root = found.base_url.rstrip("/") if found else ""
    _, chunks = await _page(f"{root}/{encoded_path(path)}.html", book, request, rag)
    return PlainTextResponse(printable(page_markdown(chunks)), media_type="text/markdown")


async def _page(
    page: str, book: BookId | None, request: Request, rag: Application
) -> tuple[BookManifest, list[Chunk]]:
    """Return the book that has the page, and the page's chunks. Refused if none has it."""
    found = await find_page(rag.index, page, books_for(request, book))
    if found is None:
        detail = f"no such page in {f'book {book!r}' if book else 'any indexed book'}: {page!r}"
        raise Refused(404, "page_not_found", detail)
    return found


# `p-...`, or an id given by the author: any HTML id without a slash.
ParagraphId = Annotated[str, Path(max_length=200, examples=["p-8v4x1q0mhz"])]


EditionLabel = Annotated[
    str,
    Query(max_length=64, description="For a book with several; by default its default one."),
]


@open_router.get(
    "/cite/{paragraph_id}",
    tags=["books"],
    summary="Go to a paragraph",
    status_code=302,
    response_class=RedirectResponse,
    responses=documented(410),
)
async def cite(
    paragraph_id: ParagraphId,
    rag: Rag,
    book: BookName | None = None,
    version: EditionLabel = "",
    locale: EditionLabel = "",
) -> Response:
    """Redirect to the paragraph's current URL; 410 with the nearest section if it was removed."""
    edition = Edition.named(version, locale).id_of(book) if book else None
    target = await rag.cite.find(paragraph_id, (edition,) if edition else ())
    if target is None:
        detail = f"no indexed book has a paragraph {paragraph_id!r}"
        raise Refused(404, "paragraph_not_found", detail)
    if target.gone:
        detail = f"the paragraph left the book; the nearest section is {target.url or 'unknown'}"
        nearest = {"Link": f'<{encoded_url(target.url)}>; rel="alternate"'} if target.url else None
        raise Refused(410, "paragraph_gone", detail, nearest)
    return RedirectResponse(encoded_url(target.url), status_code=302)


@router.post("/feedback", tags=["answers"], summary="Say whether an answer helped", status_code=204)
async def feedback(body: FeedbackRequest, request: Request, rag: Rag) -> None:
    """Store the feedback with the answer in the owner's question log."""
    if rag.question_log is None:
        message = "this server accepts no feedback: its owner can set RAG_QUESTION_LOG_DAYS"
        raise AnswerNotFound(message)
    await rag.question_log.give(Feedback(**dict(body)), books_for(request, None))
