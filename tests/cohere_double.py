"""A local stand-in for Cohere's API: real HTTP, answers that follow from the input.

    with CohereDouble() as double:
        double.fail(Fault(status=429, retry_after="2"), endpoint="embed")
        ... talk to double.url with the real SDK and the key double.key ...
        assert double.requests[0].body["model"] == "embed-v4.0"

Embeddings are hashed bags of words, so that retrieval works; chat answers with the sentence of the
documents that shares most words with the question, and cites it.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import re
import socket
import threading
import zlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from app.domain.prompts import NO_ANSWER
from tests.local_http import Handler, Server, running

Json = dict[str, Any]

_WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be by do does for from has have how in is it its of on or that the "
        "this to was were what when where which who why will with"
    )
)
_MOST_TEXTS = 96


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; by default a plain status 500."""

    kind: Literal["status", "drop", "stall", "body"] = "status"
    """status: an error answer. drop: the connection closes unanswered. stall: no answer until
    the context is left. body: 200 with `body`."""
    status: int = 500
    retry_after: str | None = None
    message: str = "internal error"
    body: str = "<html>not json</html>"


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    endpoint: str
    body: Json
    headers: dict[str, str]


@dataclass
class CohereDouble:
    """Serves on an ephemeral port from entering the context to leaving it."""

    count_tokens: Callable[[str], int] = lambda text: max(1, len(text) // 4)
    citations_first: bool = False
    """Whether the citations of an answer precede its text."""
    key: str = "test-key"

    requests: list[Recorded] = field(default_factory=list)
    billed: Counter[str] = field(default_factory=Counter)
    """How often each text was embedded and billed."""
    billed_tokens: int = 0
    answering: Callable[[Json], Reply] | None = None
    """Makes chat's answer to a request's body, in place of what it finds in the documents."""
    random_faults: Callable[[Recorded], Fault | None] = lambda request: None

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.left = threading.Event()
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"double": self})
        self._serving = running(_Server(("127.0.0.1", 0), handler))
        self._server = self._serving.__enter__()
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self.left.set()
        self._serving.__exit__(None, None, None)

    def fail(self, *faults: Fault, endpoint: str) -> None:
        """Queue faults: each befalls one request to the endpoint, in order."""
        self._faults[endpoint].extend(faults)

    def heal(self) -> None:
        """Forget the faults that are still to come."""
        self._faults.clear()

    def to(self, endpoint: str) -> list[Recorded]:
        """The requests to one endpoint."""
        return [request for request in self.requests if request.endpoint == endpoint]

    def settle(self) -> None:
        """Wait for requests of clients that are gone: they may have been sent but not read yet."""
        probe = http.client.HTTPConnection("127.0.0.1", self._server.server_port)
        # Connections are accepted in their order: once this one is answered, all before it were.
        probe.request("POST", "/v2/probe", "{}")
        probe.getresponse().read()
        probe.close()
        for thread in self._server.threads:
            thread.join(60)
            assert not thread.is_alive()

    def next_fault(self, request: Recorded) -> Fault | None:
        with self.lock:
            queue = self._faults[request.endpoint]
            return queue.popleft() if queue else self.random_faults(request)

    def bill(self, texts: Sequence[str]) -> int:
        tokens = sum(map(self.count_tokens, texts))
        with self.lock:
            self.billed.update(texts)
            self.billed_tokens += tokens
        return tokens


class _Server(Server):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.threads: list[threading.Thread] = []
        """One for each connection."""

    def process_request(self, *connection: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=connection, daemon=True)
        self.threads.append(thread)
        thread.start()


class _Refusal(Exception):
    """Status and message."""


class _Handler(Handler):
    double: ClassVar[CohereDouble]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        endpoint = self.path.removeprefix("/v2/")
        raw = self.body()
        if endpoint not in {"embed", "chat", "rerank"}:
            self._json(404, {"id": "double", "message": f"no such endpoint: {self.path}"})
            return
        request = Recorded(endpoint, json.loads(raw), dict(self.headers))
        self.double.requests.append(request)
        fault = self.double.next_fault(request)
        try:
            self._answer(request, fault)
        except _Refusal as refusal:
            self._error(*refusal.args)

    def _answer(self, request: Recorded, fault: Fault | None) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.double.key}":
            raise _Refusal(401, "invalid api token")
        kind = fault.kind if fault else ""
        if kind == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault and kind == "status":
            self._error(fault.status, fault.message, fault.retry_after)
        elif fault and kind == "body":
            self.respond(200, {"Content-Type": "text/html"}, fault.body.encode())
        else:
            if kind == "stall":
                self.double.left.wait(30)
            if request.endpoint == "chat":
                self._chat(request)
            else:
                made = _embed if request.endpoint == "embed" else _rerank
                self._json(200, made(self.double, request.body))

    def _chat(self, request: Recorded) -> None:
        _check_chat(request.body)
        reply = _reply(self.double, request.body)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in _stream(self.double, request.body, reply):
                self._chunk(event)
            self._chunk("")
        except OSError:
            self.close_connection = True

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _error(self, status: int, message: str, retry_after: str | None = None) -> None:
        self._json(status, {"id": "double", "message": message}, retry_after)

    def _json(self, status: int, body: Json, retry_after: str | None = None) -> None:
        when = {} if retry_after is None else {"Retry-After": retry_after}
        headers = {"Content-Type": "application/json", **when}
        self.respond(status, headers, json.dumps(body).encode())


@lru_cache(maxsize=20_000)
def words(text: str) -> tuple[str, ...]:
    """Lower-case content words, plurals folded: what the double understands of a text.

    Remembered, so that in a benchmark the double leaves the processor to what is measured.
    """
    found = (word.lower() for word in _WORD.findall(text))
    return tuple(word.removesuffix("s") for word in found if word not in _STOP_WORDS)


def embedding(text: str, dimension: int) -> list[float]:
    """A hashed bag of words of length 1."""
    vector = [0.0] * dimension
    for word, times in Counter(words(text) or (text,)).items():
        code = zlib.crc32(word.encode())
        vector[code % dimension] += math.sqrt(times) * (1 if code & 0x80000000 else -1)
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [round(x / length, 6) for x in vector]


def _require(met: object, refusal: str) -> None:
    if not met:
        raise _Refusal(400, f"invalid request: {refusal}")


def _embed(double: CohereDouble, body: Json) -> Json:
    texts: list[str] = body.get("texts") or []
    _require(0 < len(texts) <= _MOST_TEXTS, f"1 to {_MOST_TEXTS} texts, received {len(texts)}")
    _require(body.get("input_type") in {"search_document", "search_query"}, "input_type")
    _require(all(text.strip() for text in texts), "all texts must be non-empty")
    fixed = "-v3" in body["model"]
    _require(not (fixed and body.get("output_dimension")), "output_dimension is not supported")
    dimension = 1_024 if fixed else body["output_dimension"]
    return {
        "id": "double",
        "response_type": "embeddings_by_type",
        "embeddings": {"float": [embedding(text, dimension) for text in texts]},
        "texts": texts,
        "meta": _meta({"input_tokens": double.bill(texts)}),
    }


def _rerank(double: CohereDouble, body: Json) -> Json:
    """Billed by tokens from version 5 on, by searches before."""
    query, documents = set(words(body["query"])), body["documents"]
    _require(query and documents, "query and documents must not be empty")
    scores = [len(query & set(words(text))) / len(query) for text in documents]
    order = sorted(range(len(documents)), key=lambda index: (-scores[index], index))
    pairs = [f"{body['query']} {text}" for text in documents]
    by_tokens = "-v5" in body["model"]
    tokens = sum(map(double.count_tokens, pairs))
    return {
        "id": "double",
        "results": [{"index": index, "relevance_score": scores[index]} for index in order],
        "meta": _meta({"input_tokens": tokens} if by_tokens else {"search_units": 1}),
    }


def _meta(billed: Json) -> Json:
    return {"api_version": {"version": "2"}, "billed_units": billed}


@dataclass(frozen=True)
class Reply:
    text: str
    citations: tuple[Json, ...] = ()


def _check_chat(body: Json) -> None:
    messages = body.get("messages") or []
    _require(messages and messages[-1]["role"] == "user", "the last message must be the user's")
    for message in messages:
        _require(message["role"] in {"system", "user", "assistant"}, "a role")
        _require(message["content"], "message must not be empty in a turn")
    names = [document.get("id") for document in body.get("documents") or []]
    strings = all(isinstance(name, str) for name in names)
    _require(strings and len(set(names)) == len(names), "document ids must be unique strings")
    mode = (body.get("citation_options") or {}).get("mode", "FAST")
    _require(mode in {"FAST", "OFF"}, f"citation mode {mode} is not supported")


def _reply(double: CohereDouble, body: Json) -> Reply:
    """The best sentences of up to two documents, each cited but for its full stop."""
    if double.answering:
        return double.answering(body)
    documents = body.get("documents") or []
    if not documents:
        return Reply(stand_alone(body["messages"][-1]["content"]))
    texts = {one["id"]: one["data"]["text"] for one in documents}
    found = best_sentences(body["messages"][-1]["content"], texts)
    return _cited(found) if found else Reply(NO_ANSWER)


def best_sentences(question: str, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """The best two of the texts, by name, each with the sentence that shares most words."""
    asked = set(words(question))
    found = []
    for name, text in texts.items():
        sentences = [one.strip() for one in SENTENCE.findall(text) if one.strip()]
        best = max(sentences, key=lambda one: len(asked & set(words(one))), default="")
        if score := len(asked & set(words(best))):
            found.append((-score, name, best))
    return [(name, best) for _, name, best in sorted(found, key=lambda one: one[0])[:2]]


def stand_alone(conversation: str) -> str:
    """The last question of a conversation, with the one before it in front."""
    before, _, last = conversation.rpartition("Last question: ")
    asked = re.findall(r"^user: (.*)$", before, re.MULTILINE)
    return " ".join([*asked[-1:], last])


def _cited(found: Sequence[tuple[str, str]]) -> Reply:
    text, citations = "", []
    for name, sentence in found:
        text += " " if text else ""
        words_cited = sentence.rstrip(".!?")
        citations.append(citation(len(text), words_cited, name))
        text += sentence
    return Reply(text, tuple(citations))


def citation(start: int, text: str, *documents: str) -> Json:
    """The claim `text`, which begins at `start` of the answer, rests on these documents."""
    return {
        "start": start,
        "end": start + len(text),
        "text": text,
        "sources": [
            {"type": "document", "id": name, "document": {"id": name}} for name in documents
        ],
        "type": "TEXT_CONTENT",
    }


def _usage(double: CohereDouble, body: Json, reply: Reply) -> Json:
    prompt = "".join(message["content"] for message in body["messages"])
    documents = "".join(d["data"]["text"] for d in body.get("documents") or [])
    counts = {
        "input_tokens": float(double.count_tokens(prompt + documents)),
        "output_tokens": float(double.count_tokens(reply.text)),
    }
    return {"billed_units": counts, "tokens": counts}


def _stream(double: CohereDouble, body: Json, reply: Reply) -> Iterator[str]:
    """Server-sent events."""
    message: Json = {"role": "assistant", "content": [], "tool_calls": [], "citations": []}
    yield _event({"type": "message-start", "id": "double", "delta": {"message": message}})
    content: Json = {"type": "text", "text": ""}
    yield _event({"type": "content-start", "index": 0, "delta": {"message": {"content": content}}})
    # A few words at a time, each with the blank before it, as tokens are.
    parts = re.findall(r"\s*\S+|\s+$", reply.text)
    pieces = ["".join(parts[start : start + 4]) for start in range(0, len(parts), 4)]
    deltas = [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}}
        for piece in pieces
    ]
    cited = [
        {"type": "citation-start", "index": index, "delta": {"message": {"citations": one}}}
        for index, one in enumerate(reply.citations)
    ]
    yield from map(_event, cited + deltas if double.citations_first else deltas + cited)
    yield _event({"type": "content-end", "index": 0})
    end: Json = {"finish_reason": "COMPLETE", "usage": _usage(double, body, reply)}
    yield _event({"type": "message-end", "id": "double", "delta": end})


def _event(data: Json) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def seeded_faults(seed: int, share: float) -> Callable[[Recorded], Fault | None]:
    """A share of all requests fail at random with what a network and a busy provider do."""
    rng = random.Random(seed)
    kinds = (
        Fault(status=500),
        Fault(status=503, retry_after="1"),
        Fault(status=429, message="too many requests"),
        Fault(status=429, message="too many requests", retry_after="0.5"),
        Fault(kind="drop"),
        Fault(kind="body"),
    )
    return lambda request: rng.choice(kinds) if rng.random() < share else None
