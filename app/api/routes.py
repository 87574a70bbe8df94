"""The routes of the API: they translate, call a use case, translate back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic.json_schema import models_json_schema

from app.api import sse
from app.api.problems import MEDIA_TYPE as PROBLEM_TYPE
from app.api.problems import problem_response, request_id, title_of
from app.api.schemas import (
    AnswerBody,
    BookBody,
    BooksBody,
    ChatRequest,
    DeltaEvent,
    EmbedderBody,
    ErrorEvent,
    GeneratorBody,
    HealthBody,
    HitBody,
    Problem,
    ReadyBody,
    SearchBody,
    SearchRequest,
    StartEvent,
)
from app.bootstrap import Application
from app.domain.answer import AnswerMode
from app.domain.errors import QuestionError
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.answer import AskRequest

_STREAM_EXAMPLE = """\
event: start
data: {"mode": "extractive", "sources": [...]}

event: delta
data: {"text": "A document is the unit that the system returns."}

event: citation
data: {"index": 1, "start": 0, "end": 47, "paragraph_id": "p-8v4x1q0mhz", "url": "...", ...}

event: end
data: {"answer": "A document is ...", "mode": "extractive", "citations": [...], ...}

"""


def problems(*statuses: int) -> dict[int | str, dict[str, object]]:
    """Return the `responses` of a route that may answer with these problems."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": title_of(status),
            "content": {PROBLEM_TYPE: {"schema": schema}},
        }
        for status in statuses
    }


def get_application(request: Request) -> Application:
    application: Application = request.app.state.application
    return application


Rag = Annotated[Application, Depends(get_application)]

router = APIRouter()


def _ask_request(body: ChatRequest) -> AskRequest:
    return AskRequest(
        question=body.question,
        filter=_filter(body.book),
        history=tuple(turn.to_turn() for turn in body.history),
    )


def _bounded(question: str, rag: Application) -> str:
    limit = rag.settings.max_question_chars
    if len(question) > limit:
        message = f"the question has {len(question):,} characters; at most {limit:,} are allowed"
        raise QuestionError(message)
    return question


def _filter(book: str | None) -> SearchFilter:
    return SearchFilter(books=(book,) if book else ())


@router.post(
    "/v1/chat",
    tags=["answers"],
    summary="Ask a question",
    response_model=AnswerBody,
    responses={
        200: {
            "description": "The answer; as events when `stream` is true or asked for by `Accept`.",
            "content": {sse.MEDIA_TYPE: {"example": _STREAM_EXAMPLE}},
        },
        **problems(400, 404, 409, 413, 422, 500, 502, 503),
    },
)
async def chat(body: ChatRequest, request: Request, rag: Rag) -> Response | AnswerBody:
    """Answer from the book, each claim with a citation that opens the very paragraph."""
    ask = _ask_request(body)
    if body.stream or sse.MEDIA_TYPE in request.headers.get("accept", ""):
        return await sse.stream_answer(request, rag.answer.stream(ask), request_id(request))
    answer = await sse.unless_disconnected(request, rag.answer.answer(ask))
    return AnswerBody.model_validate(answer)


@router.post(
    "/v1/search",
    tags=["answers"],
    summary="Search without answering",
    responses=problems(400, 404, 409, 413, 422, 500, 502, 503),
)
async def search(body: SearchRequest, rag: Rag) -> SearchBody:
    """Find the chunks of the book that are nearest to the question."""
    query = SearchQuery(
        question=_bounded(body.question, rag),
        k=body.k,
        mode=body.mode,
        filter=_filter(body.book),
    )
    result = await rag.retrieve.search(query)
    hits = [HitBody.of(hit) for hit in result.hits]
    return SearchBody(hits=hits, degraded=list(result.degraded))


@router.get("/v1/books", tags=["books"], summary="The books of the index", responses=problems(503))
async def books(rag: Rag) -> BooksBody:
    return BooksBody(books=[BookBody.of(manifest) for manifest in await rag.index.books()])


@router.get("/healthz", tags=["operation"], summary="Is the process alive?")
async def healthz() -> HealthBody:
    return HealthBody()


@router.get(
    "/readyz",
    tags=["operation"],
    summary="Can it answer?",
    response_model=ReadyBody,
    responses=problems(503),
)
async def readyz(request: Request, rag: Rag) -> Response | ReadyBody:
    """Ready when the index answers and holds at least one book."""
    await rag.index.check()
    ids = [manifest.book for manifest in await rag.index.books()]
    if not ids:
        detail = "the index holds no book yet: run `textbook-rag ingest`"
        return problem_response(503, "no_book", detail, request_id(request))
    return ReadyBody(
        books=ids,
        embedder=EmbedderBody(model=rag.embedder.model, dimension=rag.embedder.dimension),
        generator=GeneratorBody(
            mode=AnswerMode.GENERATED if rag.generator else AnswerMode.EXTRACTIVE,
            model=rag.generator.model if rag.generator else None,
        ),
    )


def add_unreturned_schemas(components: dict[str, dict[str, object]]) -> None:
    """Add to the OpenAPI components what no route returns as its model: problems, events."""
    models = (Problem, StartEvent, DeltaEvent, ErrorEvent)
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models],
        ref_template="#/components/schemas/{model}",
    )
    components.setdefault("schemas", {}).update(definitions["$defs"])
