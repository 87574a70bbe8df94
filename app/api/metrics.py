"""Metrics for Prometheus: counters, updated at the end of each request; gauges, set at a scrape."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import metadata

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
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app.api.keys import require_operator
from app.api.limits import Capacity
from app.api.routes import problems
from app.bootstrap.application import Application
from app.domain.answer import Answer
from app.domain.errors import StorageError
from app.domain.indexed_book import BookManifest
from app.services.recording import Recording
from app.services.resilience import BREAKER_STATES, CircuitBreaker

PATH = "/metrics"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    """The metrics of one process. Label values are names from this program, never from readers."""

    def __init__(self) -> None:
        self.running: set[asyncio.Task[None]] = set()
        """The tasks of requests that have not ended."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        space, registry = "textbook_rag", self.registry
        counter = partial(Counter, namespace=space, registry=registry)
        seconds = partial(Histogram, namespace=space, registry=registry, buckets=_SECONDS)
        self._new_gauge = partial(Gauge, namespace=space, registry=registry)
        self._gauges: dict[str, Gauge] = {}
        self._requests = counter("requests", "Requests.", ("route", "status"))
        self._request_seconds = seconds("request_seconds", "Time of a request.", ("route",))
        self._stage_seconds = seconds("stage_seconds", "Time of a stage.", ("stage",))
        self._first_text = seconds("first_text_seconds", "Time to an answer's first text.")
        self._answers = counter("answers", "Answers.", ("mode", "confidence"))
        self._degraded = counter("degraded_answers", "Degraded answers.", ("step",))
        self._failures = counter("failures", "Failed steps.", ("step", "code", "status"))
        self._units = counter("billed_units", "What providers billed.", ("kind",))
        self._usd = counter("cost_usd", "Cost of requests in US dollars.")
        self._caches = counter("cache_lookups", "Look-ups of caches.", ("cache", "result"))
        self._gauge("info", "The program.", version=metadata.version("textbook-rag")).set(1)

    def _gauge(self, name: str, text: str, **labels: str) -> Gauge:
        if name not in self._gauges:
            self._gauges[name] = self._new_gauge(name, text, tuple(labels))
        return self._gauges[name].labels(**labels) if labels else self._gauges[name]

    @contextmanager
    def run(self) -> Iterator[None]:
        """Note that the request of this task runs."""
        task = asyncio.current_task()
        if task:
            self.running.add(task)
        try:
            yield
        finally:
            self.running.discard(task)

    def count(self, route: str, status: int, record: Recording) -> None:
        """Count a request that has ended."""
        self._requests.labels(route, str(status)).inc()
        self._request_seconds.labels(route).observe(record.ms / 1e3)
        for name, span in record.spans.items():
            self._stage_seconds.labels(name).observe(span.seconds)
        if record.first_text_ms is not None:
            self._first_text.observe(record.first_text_ms / 1e3)
        for one in dict.fromkeys(record.failures):
            self._failures.labels(_kind(one.step), one.code, str(one.status or "")).inc()
        for (cache, hit), times in record.caches.items():
            self._caches.labels(cache, "hit" if hit else "miss").inc(times)
        for kind in ("input_tokens", "output_tokens", "searches"):
            self._units.labels(kind).inc(max(0, getattr(record.units, kind)))
        self._usd.inc(max(0.0, record.usd))
        if record.answer is not None:
            self._count_answer(record.answer)

    def _count_answer(self, answer: Answer) -> None:
        self._answers.labels(answer.mode, answer.confidence).inc()
        for step in {_kind(one) for one in answer.degraded}:
            self._degraded.labels(step).inc()

    def set_open(self, capacity: Capacity) -> None:
        answers, searches = capacity.answers.held, capacity.searches.held
        self._gauge("answers_open", "Answers being sent, streamed or not.").set(answers)
        self._gauge("searches_open", "Searches under way.").set(searches)

    def set_breakers(self, breakers: Mapping[str, CircuitBreaker]) -> None:
        for name, breaker in breakers.items():
            for state in BREAKER_STATES:
                text = "1 for the state of a provider's circuit breaker."
                gauge = self._gauge("breaker", text, provider=name, state=state)
                gauge.set(breaker.state == state)

    def set_index(self, books: Sequence[BookManifest] | None, damaged: int) -> None:
        """`books` is None if the index cannot be read."""
        up = self._gauge("index_up", "1 if the index can be read.")
        up.set(books is not None)
        self._gauge("books_damaged", "Damaged books.").set(damaged)
        for gauge in map(self._gauges.get, ("index_generation", "index_age_seconds", "chunks")):
            if gauge is not None:
                gauge.clear()  # also removes the values of removed books
        for one in books or ():
            age = time.time() - datetime.fromisoformat(one.created_at).timestamp()
            text = "Generation of a book's index."
            self._gauge("index_generation", text, book=one.book).set(one.generation)
            text = "Time since a book's index was written."
            self._gauge("index_age_seconds", text, book=one.book).set(age)
            self._gauge("chunks", "Chunks of a book.", book=one.book).set(one.chunks)

    def set_money(self, spent: Mapping[str, float], ceilings: Mapping[str, float | None]) -> None:
        """Set US dollars by period, "day" and "month", for all processes including ingests."""
        for period, usd in spent.items():
            text = "US dollars spent in this period of UTC."
            self._gauge("spent_usd", text, period=period).set(usd)
        for period, ceiling in ceilings.items():
            if ceiling is not None:
                text = "Ceiling in US dollars for this period of UTC."
                self._gauge("budget_usd", text, period=period).set(ceiling)

    def set_disk(self, free: int) -> None:
        self._gauge("disk_free_bytes", "Free bytes of the disk with RAG_HOME.").set(free)


def _kind(step: str) -> str:
    """Return the step without the book id: `book` for `book:ID`."""
    return step.partition(":")[0]


@dataclass(frozen=True, slots=True)
class _WithWorkerLabel(Collector):
    """Adds the label `worker`, since a scrape reaches only one of several processes."""

    registry: CollectorRegistry
    worker: str

    def collect(self) -> Iterator[Metric]:
        for metric in self.registry.collect():
            metric.samples = [
                one._replace(labels={**one.labels, "worker": self.worker}) for one in metric.samples
            ]
            yield metric


router = APIRouter()


@router.get(
    PATH,
    tags=["operation"],
    summary="Metrics in Prometheus's text format",
    response_class=PlainTextResponse,
    responses=problems(401, 403, 503),
    dependencies=[Depends(require_operator)],
)
async def metrics(request: Request) -> Response:
    """For this machine, or with a secret key."""
    found: Metrics = request.app.state.metrics
    rag: Application = request.app.state.application
    found.set_open(request.app.state.capacity)
    found.set_breakers(rag.breakers)
    try:
        books = await rag.index.books()
        found.set_index(books.named(), len(await rag.index.damaged()))
    except StorageError:
        found.set_index(None, 0)
    if rag.breakers:
        with suppress(StorageError):  # without the file, the gauges keep their last values
            spent = await rag.budget.spent()
            ceilings = {"day": rag.budget.day, "month": rag.budget.month}
            found.set_money({"day": spent.day, "month": spent.month}, ceilings)
    found.set_disk((await rag.disk()).free)
    registry: Collector = found.registry
    if rag.settings.workers > 1:
        registry = _WithWorkerLabel(found.registry, str(os.getpid()))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
