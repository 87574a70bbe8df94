"""A local stand-in for a server of OpenAI's chat completions.

It says what it is told to or, with `answering=quote_sources`, the sentences of the numbered sources
that share most words with the question, each with its number.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from app.domain.prompts import NO_ANSWER, REWRITE_QUESTION
from tests.cohere_double import best_sentences, stand_alone
from tests.local_http import Handler, local_server


def event(text: str = "", finish_reason: str | None = None) -> str:
    """A chunk of a streamed completion, as one server-sent event."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n"


USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5}}\n\n'
DONE = "data: [DONE]\n\n"


def completion(*pieces: str) -> list[str]:
    """A whole stream, with usage and its end."""
    return [*(event(piece) for piece in pieces), event(finish_reason="stop"), USAGE, DONE]


def quote_sources(request: dict[str, Any]) -> list[str]:
    """The best sentence of each of the best two sources, in pieces of a few characters; a
    question that is to stand alone is given as one.
    """
    if request["messages"][0]["content"] == REWRITE_QUESTION:
        return completion(stand_alone(request["messages"][-1]["content"]))
    sources, *_, question = [m["content"] for m in request["messages"] if m["role"] == "user"]
    numbered = re.findall(r"\[(\d+)\] [^\n]*\n(.*?)(?=\n\n\[\d+\] |\Z)", sources, re.S)
    quoted = [_numbered(best, number) for number, best in best_sentences(question, dict(numbered))]
    answer = " ".join(quoted) or NO_ANSWER
    return completion(*(answer[at : at + 7] for at in range(0, len(answer), 7)))


def _numbered(sentence: str, number: str) -> str:
    text = sentence.rstrip(".!?")
    return f"{text} [{number}]{sentence[len(text) :] or '.'}"


@dataclass
class OpenAIDouble:
    status: int = 200
    stream: Iterable[str | bytes] = ()
    """Raw text of the body, written piece by piece; the connection closes after it."""
    sent_headers: dict[str, str] = field(default_factory=dict)
    answering: Callable[[dict[str, Any]], Iterable[str | bytes]] | None = None
    """Makes the stream of each request's body, in place of `stream`."""
    models: Sequence[Mapping[str, str]] = ({"id": "llama"},)
    """What it lists."""
    stall: bool = False
    """Send nothing until the context is left."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.left = threading.Event()
        self.disconnected = threading.Event()
        handler = type("Handler", (_Handler,), {"double": self})
        self._serving = local_server(handler)
        self.url = f"{self._serving.__enter__().url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.left.set()
        self._serving.__exit__(None, None, None)


class _Handler(Handler):
    double: ClassVar[OpenAIDouble]

    def do_GET(self) -> None:
        """The list of models."""
        self.respond(self.double.status, {}, json.dumps({"data": self.double.models}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.body())
        self.double.requests.append({"path": self.path, **body})
        self.double.headers.append({k.lower(): v for k, v in self.headers.items()})
        if self.double.stall:
            self.double.left.wait(30)
        self.send_response(self.double.status)
        for name, value in (
            {"Content-Type": "text/event-stream"} | self.double.sent_headers
        ).items():
            self.send_header(name, value)
        self.end_headers()
        try:
            answering = self.double.answering
            for piece in answering(body) if answering else self.double.stream:
                self.wfile.write(piece if isinstance(piece, bytes) else piece.encode())
        except OSError:
            self.double.disconnected.set()
