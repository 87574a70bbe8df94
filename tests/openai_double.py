"""A local stand-in for a server of OpenAI's chat completions, which says what it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self


def event(text: str = "", finish_reason: str | None = None) -> str:
    """A chunk of a streamed completion, as one server-sent event."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n"


USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5}}\n\n'
DONE = "data: [DONE]\n\n"


def completion(*pieces: str) -> list[str]:
    """A whole stream, with usage and its end."""
    return [*(event(piece) for piece in pieces), event(finish_reason="stop"), USAGE, DONE]


@dataclass
class OpenAIDouble:
    status: int = 200
    stream: list[str] = field(default_factory=list)
    """Raw text of the body, written piece by piece; the connection closes after it."""
    stall: bool = False
    """Send nothing until the context is left."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.left = threading.Event()
        self.disconnected = threading.Event()
        handler = type("Handler", (_Handler,), {"double": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        serve: Callable[[float], None] = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.left.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    double: ClassVar[OpenAIDouble]
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output clean."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.double.requests.append({"path": self.path, **json.loads(self.rfile.read(length))})
        self.double.headers.append(dict(self.headers))
        if self.double.stall:
            self.double.left.wait(30)
        self.send_response(self.double.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for piece in self.double.stream:
                self.wfile.write(piece.encode())
        except OSError:
            self.double.disconnected.set()
