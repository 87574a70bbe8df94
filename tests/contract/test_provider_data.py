"""Whatever a provider sends, in either protocol, is data: a served answer and never a failure."""

import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.providers import http
from app.adapters.providers.cohere_client import open_client
from app.domain.cost import Units
from app.domain.errors import ProviderError
from app.services.recording import recording
from tests.generating import Cohere, OpenAI
from tests.openai_double import OpenAIDouble
from tests.owl_server import QUESTION
from tests.provider_fakes import cohere_embedder, cohere_reranker, opening_after
from tests.serving import connected, offline_settings

CLAIM = "The feathers of an owl end in a soft fringe that breaks up the air."


@pytest.fixture(scope="module")
def double() -> Iterator[OpenAIDouble]:
    served = OpenAIDouble()
    ranking = '{"results": [{"index": 0, "relevance_score": 0.9}]}'
    served.answering = lambda body: [ranking] if "query" in body else served.stream
    with served:
        yield served


@pytest.fixture(scope="module", params=[OpenAI(), Cohere()], ids=["openai", "cohere"])
def wire(request: pytest.FixtureRequest) -> OpenAI:
    protocol: OpenAI = request.param
    return protocol


@pytest.fixture(scope="module")
def reader(wire: OpenAI, double: OpenAIDouble, own_home: Path) -> Iterator[httpx.Client]:
    """A client of a server whose answers the double writes."""
    changes: dict[str, object] = {"generator": "openai", "openai_base_url": double.url}
    if isinstance(wire, Cohere):
        changes = {"cohere_api_key": "key", "cohere_base_url": double.url.removesuffix("/v1")}
        changes |= {"generator": "cohere", "cohere_tier": "production"}
    with opening_after(1_000), connected(offline_settings(own_home, **changes)) as client:
        yield client


def ask(reader: httpx.Client, double: OpenAIDouble, *stream: str) -> dict[str, Any]:
    double.stream = stream
    return asked(reader)


def asked(reader: httpx.Client) -> dict[str, Any]:
    response = reader.post("/v1/chat", json={"question": QUESTION})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


USAGES = [
    *("Infinity", "-Infinity", "NaN", "1e400", '"many"', "[1]", '{"a": 1}', "null", "true"),
    *("-3", "9" * 4_000),
]


@pytest.mark.parametrize("usage", USAGES, ids=lambda usage: usage[:12])
def test_odd_usage_is_unknown(
    wire: OpenAI, reader: httpx.Client, double: OpenAIDouble, usage: str
) -> None:
    answer = ask(reader, double, wire.text(CLAIM), wire.end(usage=usage))
    assert (answer["mode"], answer["degraded"]) == ("generated", [])
    assert answer["usage"] == {"input_tokens": 0, "output_tokens": 0}


BROKEN: dict[str, Callable[[OpenAI], str]] = {
    "error": lambda wire: wire.error(),
    "deep list": lambda wire: wire.raw("[" * 100_000),
    "deep object": lambda wire: wire.raw('{"a":' * 100_000),
    "no json": lambda wire: wire.raw("{no json"),
    "text": lambda wire: wire.raw('"text"'),
    "digits": lambda wire: wire.raw("9" * 5_000),
    "long line": lambda wire: "data: " + "x" * 1_100_000,
    "end": lambda wire: "",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_gives_passages_or_ends_what_was_shown(
    wire: OpenAI, reader: httpx.Client, double: OpenAIDouble, broken: Callable[[OpenAI], str]
) -> None:
    answer = ask(reader, double, broken(wire), wire.text(CLAIM), wire.end())
    if broken(wire):
        assert (answer["mode"], answer["degraded"]) == ("extractive", ["generator"])
        assert answer["passages"]
    answer = ask(reader, double, wire.text(CLAIM + " They"), broken(wire))
    assert (answer["mode"], answer["degraded"]) == ("generated", ["generator"])
    assert answer["answer"].startswith(CLAIM)
    assert answer["answer"].count(CLAIM) == 1, "what a reader has seen begin is not begun again"
    assert "node" not in str(answer), "the provider's inner words stay inside"


def test_odd_types_are_absent(wire: OpenAI, reader: httpx.Client, double: OpenAIDouble) -> None:
    odd = ["1", "[]", "{}", '"x"', "null", "[[1]]", "true"]
    paths = [
        *('{"choices": %s}', '{"choices": [%s]}', '{"choices": [{"delta": %s}]}'),
        *('{"choices": [{"delta": {"content": %s}}]}', '{"usage": %s}', '{"type": %s}'),
        '{"usage": {"prompt_tokens_details": %s}}',
        '{"type": "content-delta", "index": %s}',
        *(f'{{"type": "{kind}", "delta": %s}}' for kind in ("content-delta", "citation-start")),
        '{"type": "content-delta", "delta": {"message": {"content": {"text": %s}}}}',
        '{"type": "citation-start", "delta": {"message": {"citations": {"sources": %s}}}}',
    ]
    events = [wire.raw(path % one) for path in paths for one in odd if one != '"x"']
    answer = ask(reader, double, *events, wire.text(CLAIM), wire.end())
    assert (answer["answer"], answer["degraded"]) == (CLAIM, [])


REASONING = [
    f"<think>Hockey in Ottawa? No.</think>\n\n{CLAIM}",
    f"<think></think>{CLAIM}",
    f"Okay, the user wants hockey in Ottawa.\nLet me think.</think>\n\n{CLAIM}",
    f"{CLAIM}<think>Hockey in Ottawa? And then",
]


@pytest.mark.parametrize("sent", REASONING, ids=["closed", "empty", "lone", "unclosed"])
def test_reasoning_reaches_no_reader(
    wire: OpenAI, reader: httpx.Client, double: OpenAIDouble, sent: str
) -> None:
    pieces = [wire.text(sent[at : at + 3]) for at in range(0, len(sent), 3)]
    hidden = wire.text("", reasoning_content="Hockey", reasoning="Hockey", thinking="Hockey")
    answer = ask(reader, double, hidden, *pieces, wire.end())
    assert (answer["answer"], answer["degraded"]) == (CLAIM, [])


def test_reasoning_is_no_answer(wire: OpenAI, reader: httpx.Client, double: OpenAIDouble) -> None:
    answer = ask(reader, double, wire.text(f"<think>{CLAIM}"), wire.end(wire.truncated))
    assert (answer["mode"], answer["degraded"]) == ("extractive", ["generator"])


def test_a_cut_answer_says_so_in_each_protocol(
    wire: OpenAI, reader: httpx.Client, double: OpenAIDouble
) -> None:
    stream = [wire.text(CLAIM), wire.end(wire.truncated)]
    assert ask(reader, double, *stream)["degraded"] == ["truncated"]
    question = [{"role": "user", "content": QUESTION}]
    body = {"model": "owls", "messages": question}
    whole = reader.post("/v1/chat/completions", json=body).json()
    assert whole["choices"][0]["finish_reason"] == "length"
    streamed = reader.post("/v1/chat/completions", json={**body, "stream": True}).text
    assert '"finish_reason":"length"' in streamed.replace(": ", ":")
    parts = [{"role": "user", "parts": [{"type": "text", "text": QUESTION}]}]
    told = reader.post("/v1/ai-sdk", json={"messages": parts}).text
    assert '"finishReason":"length"' in told.replace(": ", ":")


class Endless:
    """Repeats a piece until the client closes; counts the bytes."""

    def __init__(self, *first: str, then: str) -> None:
        self.first, self.then = first, then
        self.sent = 0

    def __iter__(self) -> Iterator[str]:
        for piece in itertools.chain(self.first, itertools.repeat(self.then)):
            self.sent += len(piece)
            yield piece


ENDLESS: dict[str, Callable[[OpenAI], str]] = {
    "text": lambda wire: wire.text("and more "),
    "empty": lambda wire: wire.text(""),
    "reasoning": lambda wire: wire.text("<think>"),
    "comments": lambda wire: ": ping\n\n" * 1_000,
    "lines": lambda wire: "\n" * 8_192,
    "one line": lambda wire: "x" * 65_536,
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_stream_is_cut_and_stalls_nobody(
    wire: OpenAI,
    reader: httpx.Client,
    double: OpenAIDouble,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = [wire.text(f"{CLAIM} ")] if kind == "text" else []
    double.stream = endless = Endless(*first, then=ENDLESS[kind](wire))
    monkeypatch.setattr(http, "MAX_BYTES", 2**19)
    beats = 0
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=reader.base_url) as other:
        answer = pool.submit(asked, reader)
        while not answer.done():
            beats += other.get("/healthz", timeout=30).is_success
    found = answer.result()
    assert beats
    told = ("generated", ["truncated"]) if kind == "text" else ("extractive", ["generator"])
    assert (found["mode"], found["degraded"]) == told
    assert len(found["answer"]) <= 32_000
    assert endless.sent < 40 * 2**20  # with what buffers hold
    assert double.disconnected.wait(10)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, Endless(then="out of memory " * 1_000)),
        ({"Content-Encoding": "gzip"}, [gzip.compress(bytes(30_000_000))]),
        ({}, ["[" * 100_000]),
        ({}, [b"\xff\xfe\x00", '"\\ud800"']),
    ],
    ids=["endless", "gzip", "deep", "binary"],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_the_body_of_an_error_is_not_read_whole(
    wire: OpenAI,
    reader: httpx.Client,
    double: OpenAIDouble,
    headers: dict[str, str],
    body: Iterable[str | bytes],
    status: int,
) -> None:
    double.status, double.sent_headers, double.stream = status, headers, body
    try:
        answer = asked(reader)
    finally:
        double.status, double.sent_headers = 200, {}
    assert (answer["mode"], answer["degraded"][-1]) == ("extractive", "generator")
    assert double.headers[-1]["accept-encoding"] == "identity"


ODD_RESULTS = [
    *("5", "[]", '"x"', "null", "[" * 100_000, "{", "9" * 5_000, '{"embeddings": 5, "results": 5}'),
    '{"embeddings": {"float": 5}, "results": {"a": 1}}',
    '{"embeddings": {"float": [5]}, "results": ["x"]}',
    '{"embeddings": {"float": [["x"]]}, "results": [{"index": [], "relevance_score": 1}]}',
    f'{{"embeddings": {{"float": [[{"9" * 4_000}]]}}, "results": [{{"index": {"9" * 4_000}}}]}}',
    '{"embeddings": {"float": [["1"]]}, "results": [{"index": 0, "relevance_score": "1"}]}',
    '{"embeddings": {"float": []}, "results": []}',
    '{"embeddings": {"int8": [[1]]}, "results": [{}]}',
    '{"embeddings": {"float": [[1.0, 2.0]]}, "results": [{"index": 9, "relevance_score": 0.5}]}',
    *(
        f'{{"embeddings": {{"float": [[{"0," * 1_023}{last}]]}}, '
        f'"results": [{{"index": 0, "relevance_score": {score}}}]}}'
        for last, score in (("NaN", "NaN"), ("null", "7"), ("0", "null"))
    ),
]


@pytest.fixture
def sending() -> Iterator[OpenAIDouble]:
    """A double whose body is JSON."""
    with OpenAIDouble(sent_headers={"Content-Type": "application/json"}) as served:
        yield served


@pytest.mark.parametrize("body", ODD_RESULTS, ids=lambda body: body[:50])
async def test_odd_vectors_and_rankings_are_errors(sending: OpenAIDouble, body: str) -> None:
    sending.stream = [body]
    async with open_client("key", sending.url.removesuffix("/v1")) as client:
        with pytest.raises(ProviderError):
            await cohere_embedder(client).embed_query("owl")
        with pytest.raises(ProviderError):
            await cohere_reranker(client).scores("owl", ["a"])


@pytest.mark.parametrize(
    "billed", ["Infinity", "NaN", '"x"', "9" * 4_000, "[]"], ids=lambda x: x[:9]
)
async def test_odd_billing_of_vectors_is_unknown(sending: OpenAIDouble, billed: str) -> None:
    vector = json.dumps([[1.0] * 1_024])
    meta = f'{{"billed_units": {{"input_tokens": {billed}, "search_units": {billed}}}}}'
    ranking = '"results": [{"index": 0, "relevance_score": 0.5}]'
    sending.stream = [f'{{"embeddings": {{"float": {vector}}}, {ranking}, "meta": {meta}}}']
    with recording() as record:
        async with open_client("key", sending.url.removesuffix("/v1")) as client:
            await cohere_embedder(client).embed_query("owl")
            assert await cohere_reranker(client).scores("owl", ["a"]) == [0.5]
    assert record.units == Units(searches=1)  # the estimate of the ranking
