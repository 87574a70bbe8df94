"""OpenTelemetry traces, if its variables name an address: a span per request and per stage.

Import it only then: the SDK takes half a second. Starlette's and contrib's instrumentation would
send readers' addresses and do not know the stages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import perf_counter_ns, time_ns

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.services.recording import Recording


class Traces:
    """Exports the spans of a request at its end, from its recording.

    They contain no personal data, only route, status, request id and stages.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("textbook-rag")
        self.close = provider.shutdown
        """Sends pending spans."""

    def add(
        self, method: str, route: str, status: int, headers: Mapping[str, str], record: Recording
    ) -> None:
        """Add the trace of a finished request; a `traceparent` header gives the parent span."""
        since_epoch = time_ns() - perf_counter_ns()

        def at(seconds: float) -> int:
            return int(seconds * 1e9) + since_epoch

        span = self._tracer.start_span(
            f"{method} {route}".rstrip(),
            context=TraceContextTextMapPropagator().extract(dict(headers)),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "textbook_rag.request_id": record.request_id,
            },
            start_time=at(record.began),
        )
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR, record.failure.code if record.failure else ""))
        inside = set_span_in_context(span)
        for name, stage in record.spans.items():
            # A stage that ran several times is one span; `busy_ms` is the sum of its run times.
            attributes = {"textbook_rag.busy_ms": round(stage.seconds * 1e3, 2)}
            child = self._tracer.start_span(
                name, context=inside, attributes=attributes, start_time=at(stage.began)
            )
            child.end(at(stage.ended))
        span.end()


def exported() -> Traces:
    """Return traces that the SDK sends where its variables say."""
    name = os.environ.get("OTEL_SERVICE_NAME", "textbook-rag")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
