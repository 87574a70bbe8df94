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
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from app.domain.prompts import NO_ANSWER
from tests.local_http import Handler, Server, running

Json = dict[str, Any]
CitationOrder = Literal["after", "interleaved", "before"]

_WORD = re.compile(r"\w+")
SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be by do does for from has have how in is it its of on or that the "
        "this to was were what when where which who why will with"
    )
)
_MOST_TEXTS = 96
_DEFAULT_DIMENSION = {"3": 1024, "4": 1536, "5": 2048}


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request; by default a plain status 500."""

    kind: Literal["status", "drop", "stall", "body"] = "status"
    """status: an error answer. drop: the connection closes unanswered. stall: no answer until
    `release`. body: 200 with `body`."""
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
    citation_order: CitationOrder = "after"
    pieces: int = 4
    """Words in a content-delta event."""
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
        self.release = threading.Event()
        """Set it to let stalled requests go on."""
        self._faults: dict[str, deque[Fault]] = {
            "embed": deque(),
            "chat": deque(),
            "rerank": deque(),
        }

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"double": self})
        self._serving = running(_Server(("127.0.0.1", 0), handler))
        self._server = self._serving.__enter__()
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._serving.__exit__(None, None, None)

    def fail(self, *faults: Fault, endpoint: str) -> None:
        """Queue faults: each befalls one request to the endpoint, in order."""
        self._faults[endpoint].extend(faults)

    def heal(self) -> None:
        """Forget the faults that are still to come."""
        for queue in self._faults.values():
            queue.clear()

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
        with self._server.calm:
            assert self._server.calm.wait_for(lambda: not self._server.open, 60)

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
        self.calm = threading.Condition()
        self.open = 0
        """Connections accepted and not closed yet."""

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.calm:
            self.open += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.calm:
                self.open -= 1
                self.calm.notify_all()


class _Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _Handler(Handler):
    double: ClassVar[CohereDouble]
    protocol_version = "HTTP/1.1"

    def post(self) -> None:
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
            self._error(refusal.status, refusal.message)

    def _answer(self, request: Recorded, fault: Fault | None) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.double.key}":
            raise _Refusal(401, "invalid api token")
        if fault is not None:
            if fault.kind == "drop":
                self._drop()
                return
            if fault.kind == "status":
                self._error(fault.status, fault.message, fault.retry_after)
                return
            if fault.kind == "body":
                self.respond(200, {"Content-Type": "text/html"}, fault.body.encode())
                return
            if fault.kind == "stall":
                self.double.release.wait(30)
        if request.endpoint == "embed":
            self._json(200, _embed(self.double, request))
        elif request.endpoint == "rerank":
            self._json(200, _rerank(self.double, request))
        else:
            self._chat(request)

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

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

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


def _embed(double: CohereDouble, request: Recorded) -> Json:
    body = request.body
    texts: list[str] = body.get("texts") or []
    if not texts:
        raise _Refusal(400, "invalid request: at least one text is required")
    if len(texts) > _MOST_TEXTS:
        reason = f"must be at most {_MOST_TEXTS} - received {len(texts)}"
        raise _Refusal(400, f"invalid request: total number of texts {reason}")
    if body.get("input_type") not in {"search_document", "search_query"}:
        raise _Refusal(400, "invalid request: valid input_type must be provided")
    if not all(text.strip() for text in texts):
        raise _Refusal(400, "invalid request: all texts must be non-empty")
    version = re.search(r"-v(\d)", body["model"])
    known = _DEFAULT_DIMENSION.get(version[1]) if version else None
    if version and version[1] == "3" and body.get("output_dimension"):
        raise _Refusal(400, "invalid request: output_dimension is not supported by the model")
    dimension = body.get("output_dimension") or known or 1024
    return {
        "id": "double",
        "response_type": "embeddings_by_type",
        "embeddings": {"float": [embedding(text, dimension) for text in texts]},
        "texts": texts,
        "meta": _meta({"input_tokens": double.bill(texts)}),
    }


def _rerank(double: CohereDouble, request: Recorded) -> Json:
    query = set(words(request.body["query"]))
    documents: list[str] = request.body["documents"]
    if not query or not documents:
        raise _Refusal(400, "invalid request: query and documents must not be empty")
    scores = [len(query & set(words(text))) / len(query) for text in documents]
    order = sorted(range(len(documents)), key=lambda index: (-scores[index], index))
    return {
        "id": "double",
        "results": [{"index": index, "relevance_score": scores[index]} for index in order],
        "meta": _meta(_rerank_bill(double, request.body)),
    }


def _rerank_bill(double: CohereDouble, body: Json) -> Json:
    """Tokens from version 5 on, searches before."""
    if "-v5" not in body["model"]:
        return {"search_units": 1}
    pairs = [f"{body['query']} {text}" for text in body["documents"]]
    return {"input_tokens": sum(map(double.count_tokens, pairs))}


def _meta(billed: Json) -> Json:
    return {"api_version": {"version": "2"}, "billed_units": billed}


@dataclass(frozen=True)
class Reply:
    text: str
    citations: tuple[Json, ...] = ()


def _check_chat(body: Json) -> None:
    messages = body.get("messages") or []
    if not messages or messages[-1]["role"] != "user":
        raise _Refusal(400, "invalid request: the last message must be the user's")
    for message in messages:
        if message["role"] not in {"system", "user", "assistant"} or not message["content"]:
            raise _Refusal(400, "message must not be empty in a turn")
    names = [document.get("id") for document in body.get("documents") or []]
    if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise _Refusal(400, "invalid request: document ids must be unique strings")
    mode = (body.get("citation_options") or {}).get("mode", "FAST")
    if "command-a" in body["model"] and mode not in {"FAST", "OFF"}:
        raise _Refusal(400, f"invalid request: citation mode {mode} is not supported")


def _reply(double: CohereDouble, body: Json) -> Reply:
    """The best sentences of up to two documents, each cited but for its full stop."""
    if double.answering:
        return double.answering(body)
    documents = body.get("documents") or []
    if not documents:
        return Reply(stand_alone(body["messages"][-1]["content"]))
    question = set(words(body["messages"][-1]["content"]))
    found = []
    for document in documents:
        sentences = [s.strip() for s in SENTENCE.findall(document["data"]["text"]) if s.strip()]
        best = max(sentences, key=lambda s: len(question & set(words(s))), default="")
        score = len(question & set(words(best)))
        if score:
            found.append((score, best, document["id"]))
    found.sort(key=lambda item: -item[0])
    if not found:
        return Reply(NO_ANSWER)
    return _cited(found[:2], off=(body.get("citation_options") or {}).get("mode") == "OFF")


def stand_alone(conversation: str) -> str:
    """The last question of a conversation, with the one before it in front."""
    before, _, last = conversation.rpartition("Last question: ")
    asked = re.findall(r"^user: (.*)$", before, re.MULTILINE)
    return " ".join([*asked[-1:], last])


def _cited(found: Sequence[tuple[int, str, str]], off: bool) -> Reply:
    text, citations = "", []
    for _, sentence, name in found:
        text += " " if text else ""
        words_cited = sentence.rstrip(".!?")
        citations.append(citation(len(text), words_cited, name))
        text += sentence
    return Reply(text, () if off else tuple(citations))


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
    yield _event({"type": "message-start", "id": "double", "delta": {"message": _assistant()}})
    content: Json = {"type": "text", "text": ""}
    yield _event({"type": "content-start", "index": 0, "delta": {"message": {"content": content}}})
    citations = list(enumerate(reply.citations))
    if double.citation_order == "before":
        yield from _citation_events(citations)
    sent = 0
    for piece in _pieces(reply.text, double.pieces):
        delta = {"message": {"content": {"text": piece}}}
        yield _event({"type": "content-delta", "index": 0, "delta": delta})
        sent += len(piece)
        if double.citation_order == "interleaved":
            ready = [item for item in citations if item[1]["end"] <= sent]
            yield from _citation_events(ready)
            citations = citations[len(ready) :]
    if double.citation_order == "after":
        yield from _citation_events(citations)
    yield _event({"type": "content-end", "index": 0})
    end: Json = {"finish_reason": "COMPLETE", "usage": _usage(double, body, reply)}
    yield _event({"type": "message-end", "id": "double", "delta": end})


def _assistant() -> Json:
    return {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}


def _citation_events(citations: Sequence[tuple[int, Json]]) -> Iterator[str]:
    for index, citation in citations:
        delta = {"message": {"citations": citation}}
        yield _event({"type": "citation-start", "index": index, "delta": delta})
        yield _event({"type": "citation-end", "index": index})


def _event(data: Json) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def _pieces(text: str, words_each: int) -> Iterator[str]:
    """The text in pieces of a few words, each with the blank before it, as tokens are."""
    parts = re.findall(r"\s*\S+|\s+$", text)
    for start in range(0, len(parts), words_each):
        yield "".join(parts[start : start + words_each])


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
