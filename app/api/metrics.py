"""Metrics for Prometheus: counters, updated at the end of each request; gauges, set at a scrape."""

import os
from contextlib import suppress
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from app.bootstrap.application import Application
from app.domain.errors import StorageError
from app.services.recording import Recording

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

    async def set_gauges(self, rag: Application) -> None:
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
