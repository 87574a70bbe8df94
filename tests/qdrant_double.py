"""A local HTTP server that answers as Qdrant does and keeps the requests that it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from app.adapters.qdrant.server_points import point_of
from tests.index_points import DIMENSION, chunk_id, points

Json: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: Json
    headers: dict[str, str]

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    result: object = True
    error: str = ""
    raw: bytes | None = None
    """The whole body, in place of Qdrant's envelope."""

    def content(self) -> bytes:
        if self.raw is not None:
            return self.raw
        status: object = {"error": self.error} if self.error else "ok"
        return json.dumps({"result": self.result, "status": status, "time": 0.001}).encode()


Answer: TypeAlias = Callable[[Request], Reply]


@dataclass(slots=True)
class QdrantDouble:
    """`routes` maps the start of "METHOD /path" to what answers; the longest match wins."""

    url: str = ""
    routes: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        matches = [start for start in self.routes if request.line.startswith(start)]
        if not matches:
            return Reply(404, None, f"no route for {request.line}")
        return self.routes[max(matches, key=len)](request)

    def lines(self) -> list[str]:
        return [request.line for request in self.requests]

    def bodies(self, start: str) -> list[Json]:
        return [request.body for request in self.requests if request.line.startswith(start)]


@contextmanager
def qdrant_double() -> Iterator[QdrantDouble]:
    double = QdrantDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = double.answer(Request(self.command, self.path, body, headers))
            content = reply.content()
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - their names

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    double.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


BOOKS, POINTS = "/collections/textbook~books", f"/collections/textbook~{DIMENSION}"
DONE = Reply(result={"operation_id": 1, "status": "completed"})


def version(number: str = "1.19.0") -> Reply:
    return Reply(raw=json.dumps({"title": "qdrant", "version": number}).encode())


def serve(double: QdrantDouble, *, exists: bool = True) -> QdrantDouble:
    """Answer as a server that keeps records; of each published book it has three points."""
    stored: dict[str, Json] = {}

    def kept() -> dict[str, str]:
        """The book of each generation."""
        found = [one["payload"] for one in stored.values()]
        return {
            one["current"]["key"]: one["book"]
            for one in found
            if isinstance(one, dict) and one["current"]
        }

    def facet(_: Request) -> Reply:
        return Reply(result={"hits": [{"value": key, "count": 3} for key in kept()]})

    def sample(search: Json) -> Json:
        (key,) = search["filter"]["must"][0]["match"]["any"]  # type: ignore[index]
        made = [point_of(key, point) for point in points(kept()[key], range(3))]
        return {"points": [{**one.model_dump(), "version": 1, "score": 1.0} for one in made]}

    def put(request: Request) -> Reply:
        made = request.body["points"]
        assert isinstance(made, list)
        stored.update({one["id"]: {**one, "vector": {}} for one in made})
        return DONE

    def overwrite(request: Request) -> Reply:
        condition = request.body["filter"]
        assert isinstance(condition, dict)
        (name,) = condition["must"][0]["has_id"]
        stored[name] = {"id": name, "vector": {}, "payload": request.body["payload"]}
        return DONE

    def retrieve(request: Request) -> Reply:
        ids = request.body["ids"]
        assert isinstance(ids, list)
        return Reply(result=[stored[name] for name in ids if name in stored])

    def scroll(request: Request) -> Reply:
        return Reply(result={"points": list(stored.values()), "next_page_offset": None})

    def hits(request: Request) -> Reply:
        searches = request.body["searches"]
        assert isinstance(searches, list)
        if "sample" in searches[0]["query"]:
            return Reply(result=[sample(one) for one in searches])
        found: Json = {"id": chunk_id("book", 1), "version": 1, "score": 0.5}
        found["payload"] = {"generation": next(iter(kept()))}
        return Reply(result=[{"points": [found]} for _ in searches])

    config = {
        "params": {},
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
        "optimizer_config": {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1_000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        },
    }
    info = {"status": "green", "optimizer_status": "ok", "segments_count": 1}
    listed = {"collections": [{"name": f"textbook~{name}"} for name in (DIMENSION, "books", "x")]}
    double.routes = {
        "GET /": lambda _: version(),
        "GET /collections": lambda _: Reply(result=listed),
        "GET /collections/": lambda request: Reply(
            result={"exists": exists}
            if request.path.endswith("/exists")
            else {**info, "payload_schema": {}, "config": config}
        ),
        "PUT /collections/": lambda request: DONE if "?wait" in request.path else Reply(),
        "POST /collections/": lambda _: DONE,
        f"PUT {BOOKS}/points": put,
        f"PUT {BOOKS}/points/payload": overwrite,
        f"POST {BOOKS}/points": retrieve,
        f"POST {BOOKS}/points/scroll": scroll,
        f"POST {BOOKS}/points/delete": lambda _: DONE,
        f"POST {POINTS}/facet": facet,
        f"POST {POINTS}/points/query/batch": hits,
        f"POST {POINTS}/points/delete": lambda _: DONE,
    }
    return double
