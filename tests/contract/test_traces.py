"""OpenTelemetry traces, read from the SDK's exporter in memory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from starlette.testclient import TestClient

from app.bootstrap.traces import Traces
from app.main import create_app
from app.settings import Settings
from tests.cohere_double import CohereDouble
from tests.owl_server import QUESTION
from tests.serving import offline_settings

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.fixture
def home(owl_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(owl_home, tmp_path / "rag"))


def spans_of(settings: Settings, path: str, body: object, **headers: str) -> Sequence[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    web = create_app(settings, traced=Traces(provider))
    with TestClient(
        web, "http://127.0.0.1", client=("127.0.0.1", 50_000), raise_server_exceptions=False
    ) as client:
        client.post(path, json=body, headers=headers)
    return exporter.get_finished_spans()


def test_a_request_has_a_span_and_each_of_its_stages_one_within_it(home: Path) -> None:
    with CohereDouble() as double:
        provider = {"cohere_api_key": double.key, "cohere_base_url": double.url}
        settings = offline_settings(home, generator="cohere", **provider)
        spans = spans_of(
            settings, "/v1/chat", {"question": QUESTION}, traceparent=f"00-{TRACE}-{PARENT}-01"
        )
    (request,) = (span for span in spans if span.kind is SpanKind.SERVER)
    stages = {span.name: span for span in spans if span is not request}
    assert request.name == "POST /v1/chat"
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/v1/chat"
    assert request.attributes["http.response.status_code"] == 200
    assert request.parent is not None
    assert format(request.parent.span_id, "016x") == PARENT
    assert {"search", "rerank", "generation"} <= stages.keys()
    for stage in stages.values():
        assert stage.parent is not None
        assert request.context is not None
        assert stage.parent.span_id == request.context.span_id
        assert format(stage.parent.trace_id, "032x") == TRACE
        times = [request.start_time, stage.start_time, stage.end_time, request.end_time]
        assert times == sorted(time or 0 for time in times)
    assert QUESTION not in str([span.to_json() for span in spans])


def test_a_5xx_is_an_error_named_by_its_code(home: Path) -> None:
    next(home.glob("index/*/current")).write_text("damaged", "utf-8")
    spans = spans_of(offline_settings(home), "/v1/search", {"question": QUESTION})
    (request,) = (span for span in spans if span.kind is SpanKind.SERVER)
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 503
    assert request.status.status_code is StatusCode.ERROR
    assert request.status.description


def test_traces_go_where_the_environment_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        with TestClient(create_app(offline_settings(home)), "http://127.0.0.1") as client:
            client.get("/healthz")
        server.shutdown()
    assert b"GET /healthz" in b"".join(received)
