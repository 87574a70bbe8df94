"""For the operator and probes: whether the process is alive and can answer, and its metrics."""

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.api.keys import require_operator
from app.api.metrics import Metrics
from app.api.problems import Refused
from app.api.responses import BooksBody, ReadyBody
from app.api.routes import Rag
from app.domain.errors import StorageError

router = APIRouter(tags=["operation"])
"""Needs no key, but for the metrics."""


@router.get("/healthz", summary="Is the process alive?")
async def healthz() -> dict[str, str]:
    return {"status": "alive"}


@router.get("/readyz", summary="Can it answer?")
async def readyz(rag: Rag) -> ReadyBody:
    """Ready if the index can be read and has at least one book; damaged books are listed. Not ready
    if the keys cannot be read, unless the server is open to all.

    With `faults` of other parts the server still answers.
    """
    await rag.index.check()
    faults = await rag.faults()
    if not rag.settings.open and "keys" in faults:
        raise StorageError(faults["keys"])
    found = await BooksBody.of(rag)
    if not found.books:
        raise Refused(503, "no_book", "the index holds no book yet: run `textbook-rag ingest`")
    return ReadyBody(
        status="ready, extractive only" if "generator" in faults else "ready",
        books=[one.book for one in found.books if one.book == one.book.name],
        previous=found.previous,
        quarantined=found.quarantined,
        embedder=rag.embedder.space,
        generator=rag.answer.model,
        # Where the files are is not public.
        faults={**faults, **dict.fromkeys(faults.keys() & {"keys", "question log"}, "damaged")},
    )


@router.get(
    "/metrics",
    summary="Metrics in Prometheus's text format",
    response_class=PlainTextResponse,
    dependencies=[Depends(require_operator)],
)
async def metrics(request: Request, rag: Rag) -> Response:
    """For this machine, or with a secret key."""
    found: Metrics = request.app.state.metrics
    await found.set_gauges(rag)
    return Response(generate_latest(found.registry), media_type=CONTENT_TYPE_LATEST)
