"""For the operator: health, the log of requests, and metrics for Prometheus.

Every request has an id and is recorded; at its end it is logged and counted. Gauges are set at a
scrape.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from functools import partial
from uuid import uuid4

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.keys import require_operator
from app.api.problems import CLIENT_CLOSED_REQUEST, Refused, error_response
from app.api.responses import BooksBody, ReadyBody
from app.api.routes import Rag
from app.bootstrap.application import Application
from app.domain.errors import Overloaded, StorageError, TooManyRequests
from app.services.recording import Recording, recording

_log = logging.getLogger(__name__)
_CHEAP_REFUSALS = frozenset({Overloaded.code, TooManyRequests.code})
_LOGGED = ("/v1/", "/cite/")
"""Successful requests for pages, health and metrics are not logged."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    """The metrics of one process. Label values are names from this program, never from readers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        space, registry = "textbook_rag", self.registry
        counter = partial(Counter, namespace=space, registry=registry)
        gauge = partial(Gauge, namespace=space, registry=registry)
        seconds = partial(Histogram, namespace=space, registry=registry, buckets=_SECONDS)
        self._requests = counter("requests", "Requests.", ("route", "status"))
        self._request_seconds = seconds("request_seconds", "Time of a request.", ("route",))
        self._stage_seconds = seconds("stage_seconds", "Time of a stage.", ("stage",))
        self._first_text = seconds("first_text_seconds", "Time to an answer's first text.")
        self._answers = counter("answers", "Answers.", ("mode", "confidence"))
        self._failures = counter("failures", "Failed steps.", ("step", "code", "status"))
        self._breaker = gauge("breaker", "1 if a circuit breaker is not closed.", ("provider",))
        gauge("process", "1 for the process that answers.", ("pid",)).labels(os.getpid()).set(1)
        self._index_up = gauge("index_up", "1 if the index can be read.")
        self._damaged = gauge("books_damaged", "Damaged books.")
        self._spent = gauge("spent_usd", "US dollars spent in this period of UTC.", ("period",))
        self._budget = gauge("budget_usd", "Ceiling in US dollars for this period.", ("period",))
        self._disk = gauge("disk_free_bytes", "Free bytes of the disk with RAG_HOME.")

    def count(self, route: str, status: int, record: Recording) -> None:
        """Count a request that has ended."""
        self._requests.labels(route, str(status)).inc()
        self._request_seconds.labels(route).observe(record.ms / 1e3)
        for name, seconds in record.seconds.items():
            self._stage_seconds.labels(name).observe(seconds)
        if record.first_text_ms is not None:
            self._first_text.observe(record.first_text_ms / 1e3)
        for one in dict.fromkeys(record.failures):
            step = one.step.partition(":")[0]  # `book` for `book:ID`
            self._failures.labels(step, one.code, str(one.status or "")).inc()
        if record.answer is not None:
            self._answers.labels(record.answer.mode, record.answer.confidence).inc()

    async def look(self, rag: Application) -> None:
        """Set the gauges."""
        providers = rag.providers
        for name, breaker in providers.breakers.items():
            self._breaker.labels(name).set(not breaker.closed)
        try:
            await rag.index.check()
            self._damaged.set(len(await rag.index.damaged()))
            self._index_up.set(1)
        except StorageError:
            self._index_up.set(0)
        self._disk.set((await rag.disk()).free)
        if providers.breakers:
            with suppress(StorageError):  # without the file, the gauges keep their last values
                for period, usd in (await providers.budget.spent()).items():
                    self._spent.labels(period).set(usd)
            for period, usd in providers.budget.limits.items():
                self._budget.labels(period).set(usd)


class RecordedRequests:
    """Middleware that gives each request an id and a recording, and logs it at its end.

    It converts errors of the middleware inside it, and unexpected ones, to problem responses.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex[:16]
        status = CLIENT_CLOSED_REQUEST

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        state, task = scope["app"].state, asyncio.current_task()
        state.running.add(task)
        with recording(request_id) as record:
            try:
                await self._app(scope, receive, send_with_id)
            except (ClientDisconnect, asyncio.CancelledError):
                pass  # the client left, or the server stopped
            except Exception as error:
                response = error_response(error, scope)
                if status != CLIENT_CLOSED_REQUEST:
                    raise
                await response(scope, receive, send_with_id)
            finally:
                state.running.discard(task)
                # The path's template, such as `/cite/{paragraph_id}`; "" if no route matched.
                method, route = scope["method"], getattr(scope.get("route"), "path", "")
                state.metrics.count(route, status, record)
                _log_request(method, route, status, record)


def _log_request(method: str, route: str, status: int, record: Recording) -> None:
    """Log the request with its route, not its path: the path may contain text of readers."""
    failed = record.failure
    fields: dict[str, object] = {"method": method, "route": route, "status": status}
    fields["ms"] = record.ms
    if failed:
        fields |= {"code": failed.code, "reason": failed.reason, "provider_status": failed.status}
    if record.answer is None and record.seconds:
        fields |= record.fields()
    if failed and failed.code not in _CHEAP_REFUSALS:
        _log.warning("http.request_failed", extra=fields)
    elif status >= 400:
        _log.info("http.refused", extra=fields | {"code": str(status)})
    elif route.startswith(_LOGGED):
        _log.info("http.request", extra=fields)


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
        detail = "the index holds no book yet: run `textbook-rag ingest`"
        raise Refused(503, "no_book", detail)
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
    await found.look(rag)
    return Response(generate_latest(found.registry), media_type=CONTENT_TYPE_LATEST)
