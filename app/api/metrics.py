"""Metrics for Prometheus: counters, updated at the end of each request; gauges, set at a scrape."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
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
from starlette.datastructures import State

from app.api.keys import require_operator
from app.api.routes import Rag, problems
from app.bootstrap.application import Application
from app.domain.errors import StorageError
from app.services.budget import Budget
from app.services.ports import BookStore
from app.services.recording import Recording
from app.services.resilience import BREAKER_STATES

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
        gauge = partial(Gauge, namespace=space, registry=registry)
        seconds = partial(Histogram, namespace=space, registry=registry, buckets=_SECONDS)
        self._requests = counter("requests", "Requests.", ("route", "status"))
        self._request_seconds = seconds("request_seconds", "Time of a request.", ("route",))
        self._stage_seconds = seconds("stage_seconds", "Time of a stage.", ("stage",))
        self._first_text = seconds("first_text_seconds", "Time to an answer's first text.")
        self._answers = counter("answers", "Answers.", ("mode", "confidence"))
        self._degraded = counter("degraded_answers", "Degraded answers.", ("step",))
        self._failures = counter("failures", "Failed steps.", ("step", "code", "status"))
        self._units = counter("billed_units", "What providers billed.", ("kind",))
        self._usd = counter("cost_usd", "Cost of requests in US dollars.")
        gauge("info", "The program.", ("version",)).labels(metadata.version("textbook-rag")).set(1)
        self._open = gauge("open", "Answers being sent, and searches under way.", ("what",))
        self._breaker = gauge(
            "breaker", "1 for the state of a provider's circuit breaker.", ("provider", "state")
        )
        self._index_up = gauge("index_up", "1 if the index can be read.")
        self._damaged = gauge("books_damaged", "Damaged books.")
        self._generation = gauge("index_generation", "Generation of a book's index.", ("book",))
        self._age = gauge("index_age_seconds", "Time since a book's index was written.", ("book",))
        self._chunks = gauge("chunks", "Chunks of a book.", ("book",))
        self._spent = gauge("spent_usd", "US dollars spent in this period of UTC.", ("period",))
        self._budget = gauge("budget_usd", "Ceiling in US dollars for this period.", ("period",))
        self._disk = gauge("disk_free_bytes", "Free bytes of the disk with RAG_HOME.")

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
        for name, seconds in record.seconds.items():
            self._stage_seconds.labels(name).observe(seconds)
        if record.first_text_ms is not None:
            self._first_text.observe(record.first_text_ms / 1e3)
        for one in dict.fromkeys(record.failures):
            self._failures.labels(_kind(one.step), one.code, str(one.status or "")).inc()
        for kind in ("input_tokens", "output_tokens", "searches"):
            self._units.labels(kind).inc(max(0, getattr(record.units, kind)))
        self._usd.inc(max(0.0, record.usd))
        if record.answer is not None:
            self._answers.labels(record.answer.mode, record.answer.confidence).inc()
            for step in {_kind(one) for one in record.answer.degraded}:
                self._degraded.labels(step).inc()

    async def look(self, rag: Application, places: State) -> None:
        """Set the gauges."""
        for what in ("answers", "searches"):
            self._open.labels(what).set(getattr(places, what).held)
        for name, breaker in rag.breakers.items():
            for state in BREAKER_STATES:
                self._breaker.labels(name, state).set(breaker.state == state)
        await self._look_at_index(rag.index)
        if rag.breakers:
            await self._look_at_money(rag.budget)
        self._disk.set((await rag.disk()).free)

    async def _look_at_index(self, index: BookStore) -> None:
        for gauge in (self._generation, self._age, self._chunks):
            gauge.clear()  # removes the values of removed books
        try:
            books, damaged = (await index.books()).named(), await index.damaged()
        except StorageError:
            self._index_up.set(0)
            return
        self._index_up.set(1)
        self._damaged.set(len(damaged))
        for one in books:
            written = datetime.fromisoformat(one.created_at).timestamp()
            self._generation.labels(one.book).set(one.generation)
            self._age.labels(one.book).set(time.time() - written)
            self._chunks.labels(one.book).set(one.chunks)

    async def _look_at_money(self, budget: Budget) -> None:
        with suppress(StorageError):  # without the file, the gauges keep their last values
            spent = await budget.spent()
            for period in ("day", "month"):
                self._spent.labels(period).set(getattr(spent, period))
                if (ceiling := getattr(budget, period)) is not None:
                    self._budget.labels(period).set(ceiling)


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
async def metrics(request: Request, rag: Rag) -> Response:
    """For this machine, or with a secret key."""
    found: Metrics = request.app.state.metrics
    await found.look(rag, request.app.state)
    registry: Collector = found.registry
    if rag.settings.workers > 1:
        registry = _WithWorkerLabel(found.registry, str(os.getpid()))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
