"""OpenAI's protocol, through the vendor's own package."""

import re
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam as MessageParam

import app.domain.errors as errors
from app.domain.generated_text.model_text import GeneratedCitation
from tests.command_line import Run
from tests.owl_server import ORIGIN, QUESTION, UNSURE, added
from tests.serving import ScriptedGenerator, offline_settings, serving

ASKED: list[MessageParam] = [{"role": "user", "content": QUESTION}]
LINK = re.compile(r"\[\d+\]\((https://book\.example/[^()\s]*)\)")


def vendor(address: str | httpx.URL, key: str = "none") -> openai.OpenAI:
    base = str(address).rstrip("/") + "/v1"
    return openai.OpenAI(base_url=base, api_key=key, max_retries=0)


def ask(books: openai.OpenAI, messages: list[MessageParam] = ASKED, **extra: Any) -> Any:
    return books.chat.completions.create(model="owls", messages=messages, **extra)


@pytest.fixture
def books(client: httpx.Client) -> openai.OpenAI:
    return vendor(client.base_url)


def test_the_books_are_the_models(books: openai.OpenAI) -> None:
    found = list(books.models.list())
    assert [(one.id, one.object) for one in found] == [("owls", "model")]
    assert found[0].created > 1_700_000_000


def test_an_answer_has_its_citations_as_links_and_annotations(
    books: openai.OpenAI, client: httpx.Client
) -> None:
    completion = ask(books)
    (choice,) = completion.choices
    native = client.post("/v1/chat", json={"question": QUESTION, "book": "owls"}).json()
    content = choice.message.content
    assert LINK.findall(content) == [one["url"] for one in native["citations"]] != []
    assert LINK.sub("", content).split() == native["answer"].split()
    for annotation, citation in zip(choice.message.annotations, native["citations"], strict=True):
        cited = annotation.url_citation
        assert content[cited.start_index : cited.end_index] == f"[{citation['index']}]({cited.url})"
        assert (cited.url, cited.title) == (citation["url"], citation["title"])
    assert (choice.finish_reason, completion.model) == ("stop", "owls")
    assert completion.usage.total_tokens == 0


def test_a_stream_is_the_same_answer_in_chunks(books: openai.OpenAI) -> None:
    chunks = list(ask(books, stream=True, stream_options={"include_usage": True}))
    *told, last = chunks
    deltas = [one.choices[0].delta for one in told]
    text = "".join(delta.content or "" for delta in deltas)
    whole = ask(books).choices[0].message
    assert (deltas[0].role, text) == ("assistant", whole.content)
    assert [one.choices[0].finish_reason for one in told][-1] == "stop"
    assert (last.choices, last.usage.total_tokens) == ([], 0)
    assert len({one.id for one in chunks}) == 1
    streamed = [one for delta in deltas for one in (delta.model_extra or {}).get("annotations", [])]
    assert streamed == [one.model_dump() for one in whole.annotations] != []


def test_the_conversation_reaches_the_generator_without_links(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    sentence = "The feathers of an owl end in a soft fringe, so the flight makes no sound."
    generator.play(sentence, GeneratedCitation(0, sentence, ("p-0",)))
    conversation: list[MessageParam] = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "Do owls fly?"},
        {"role": "assistant", "content": f"They do. [1]({ORIGIN}/owls#a) Yes."},
        {"role": "user", "content": [{"type": "text", "text": "Why is their flight silent?"}]},
    ]
    completion = ask(vendor(generating.base_url), conversation, temperature=0.3, seed=4, user="u")
    assert completion.usage.model_dump(include={"prompt_tokens", "completion_tokens"}) == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
    }
    (history,) = (one.history for one in generator.requests)
    assert [(one.role, one.content) for one in history] == [
        ("user", "Do owls fly?"),
        ("assistant", "They do. Yes."),
    ]


@pytest.mark.parametrize(
    ("before", "fields"), [(120, {}), (0, {"page_url": f"{ORIGIN}/owls", "scope": "page"})]
)
def test_a_long_conversation_or_a_page_and_a_scope_may_be_sent(
    books: openai.OpenAI, before: int, fields: dict[str, str]
) -> None:
    turn: MessageParam = {"role": "assistant", "content": "They do. " * 60}
    answer = ask(books, [*[turn] * before, *ASKED], extra_body=fields)
    assert LINK.search(answer.choices[0].message.content)


def sent(content: object, role: str = "user") -> dict[str, object]:
    return {"messages": [*ASKED, {"role": role, "content": content}]}


IMAGE = [{"type": "image_url", "image_url": {}}]
INVALID: list[tuple[dict[str, Any], int, str, str | None]] = [
    ({"model": "gpt-4"}, 404, "model_not_found", None),
    ({"model": "No book!"}, 400, "invalid_request", "model"),
    ({"messages": []}, 400, "invalid_request", "messages"),
    ({"messages": "hi"}, 400, "invalid_request", "messages"),
    (sent("So.", "assistant"), 400, "invalid_question", None),
    (sent(IMAGE), 400, "invalid_request", None),
    (sent("x " * 2_500), 400, "invalid_question", None),
    ({"n": 2}, 400, "invalid_request", "n"),
    ({"response_format": {"type": "json_object"}}, 400, "invalid_request", "response_format.type"),
    ({"extra_body": {"scope": "page"}}, 400, "invalid_request", None),
    ({"user": "x" * 270_000}, 413, "body_too_large", None),
]


@pytest.mark.parametrize(("fields", "status", "code", "param"), INVALID)
def test_an_invalid_request_is_an_error_in_openais_shape(
    books: openai.OpenAI, fields: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    with pytest.raises(openai.APIStatusError) as raised:
        books.chat.completions.create(**{"model": "owls", "messages": ASKED, **fields})
    assert (raised.value.status_code, raised.value.code) == (status, code)
    assert raised.value.type == "invalid_request_error"
    assert raised.value.param == param or param is None
    assert raised.value.response.headers["x-request-id"] in raised.value.message


def test_other_paths_keep_their_problems(client: httpx.Client) -> None:
    assert client.get("/v1/chat/completion").headers["content-type"] == "application/problem+json"
    assert client.get("/v1/chat/completions").json()["error"]["code"] == "method_not_allowed"


def test_a_broken_stream_raises(generating: httpx.Client, generator: ScriptedGenerator) -> None:
    generator.play(errors.ProviderRateLimited("key abc", retry_after=7))
    books = vendor(generating.base_url)
    unsure: list[MessageParam] = [{"role": "user", "content": UNSURE}]
    with pytest.raises(openai.APIError) as raised:
        list(ask(books, unsure, stream=True))
    assert raised.value.code == "provider_rate_limited"
    assert "abc" not in raised.value.message


def test_a_key_is_the_api_key(run: Run, two_books: Path) -> None:
    with serving(offline_settings(two_books)) as address:
        owls = vendor(address, added(run, "--secret", "--book", "owls"))
        assert LINK.search(ask(owls).choices[0].message.content)
        with pytest.raises(openai.AuthenticationError) as unknown:
            ask(vendor(address, "sk_0"))
        assert unknown.value.code == "invalid_api_key"
        with pytest.raises(openai.PermissionDeniedError):
            owls.chat.completions.create(model="bats", messages=ASKED)
