"""OpenTelemetry traces, if its variables name an address: a span per request and per stage."""

from __future__ import annotations

import os
from importlib.util import find_spec
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING

from app.domain.errors import ConfigError
from app.services.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import TracerProvider


class Traces:
    """Exports the spans of a request at its end, from its recording.

    They contain no personal data, only route, status, request id and stages.
    """

    def __init__(self, provider: TracerProvider) -> None:
        # These imports take 0.5 s, so they are delayed until traces are used.
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self._provider = provider
        self._tracer = provider.get_tracer("textbook-rag")
        self._propagator = TraceContextTextMapPropagator()

    def add(
        self, method: str, route: str, status: int, headers: Mapping[str, str], record: Recording
    ) -> None:
        """Add the trace of a finished request; a `traceparent` header gives the parent span."""
        from opentelemetry.trace import (  # noqa: PLC0415
            SpanKind,
            Status,
            StatusCode,
            set_span_in_context,
        )

        since_epoch = time_ns() - perf_counter_ns()

        def at(seconds: float) -> int:
            return int(seconds * 1e9) + since_epoch

        span = self._tracer.start_span(
            f"{method} {route}".rstrip(),
            context=self._propagator.extract(dict(headers)),
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

    def close(self) -> None:
        """Send pending spans."""
        self._provider.shutdown()


_ADDRESSES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Variables of OpenTelemetry that say where traces go."""


def traces() -> Traces | None:
    """Return the exporter; None if no address is set. ConfigError if the extra is missing."""
    if not any(map(os.environ.get, _ADDRESSES)):
        return None
    if find_spec("opentelemetry.sdk") is None:
        message = (
            "OTEL_EXPORTER_OTLP_ENDPOINT needs the extra traces: pip install 'textbook-rag[traces]'"
        )
        raise ConfigError(message)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    # The SDK reads the addresses itself.
    name = os.environ.get("OTEL_SERVICE_NAME", "textbook-rag")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
