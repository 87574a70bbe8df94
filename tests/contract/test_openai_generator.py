"""A generator for OpenAI-compatible servers, over real HTTP against a local double."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.adapters.providers.http import Provider
from app.adapters.providers.openai_chat import CHARACTERS_PER_TOKEN, OpenAIGenerator, open_server
from app.domain.errors import (
    ConfigError,
    ProviderAuthError,
    ProviderUnavailable,
)
from app.domain.generated_text.events import (
    GeneratedEnd,
    GeneratedText,
    GeneratorEvent,
    TextDiscarded,
)
from app.domain.prompts import (
    ANSWER_FROM_NUMBERED_SOURCES,
    REWRITE_QUESTION,
    SHORT_ANSWER_FROM_NUMBERED_SOURCES,
)
from app.domain.retrieval.query import Turn
from app.services.prompt_speed import PromptSpeed
from tests.answer_fakes import generation_request
from tests.contract.test_cohere_generator import CONTEXT, passage, text_of
from tests.openai_double import DONE, OpenAIDouble, completion, event
from tests.provider_fakes import free_calls


def model_at(client: Provider, seconds: float = 10.0) -> OpenAIGenerator:
    """A model that waits `seconds` for each part of an answer."""
    return OpenAIGenerator(client, free_calls(), free_calls(), "llama", seconds, seconds)


def ask(
    double: OpenAIDouble,
    history: Sequence[Turn] = (),
    key: str | None = None,
    timeout_seconds: float = 10.0,
    events: list[GeneratorEvent] | None = None,
) -> list[GeneratorEvent]:
    """Put a question; what came before an error is in `events`."""
    seen: list[GeneratorEvent] = [] if events is None else events

    async def run() -> None:
        async with open_server(double.url, key) as client:
            generator = model_at(client, timeout_seconds)
            async for item in generator.generate(generation_request("Question?", history, CONTEXT)):
                seen.append(item)  # noqa: PERF401 - what came before an error counts as well

    asyncio.run(run())
    return seen


def test_text_comes_with_the_paragraphs_that_its_numbers_cite() -> None:
    pieces = completion("Chloro", "phyll captures light [", "1", "]. Plants store it [2][1", "].")
    with OpenAIDouble(stream=pieces) as double:
        events = ask(double)
    assert text_of(events) == "Chlorophyll captures light [1]. Plants store it [2][1]."
    numbered = {one.numbered for one in events if isinstance(one, GeneratedText)}
    assert numbered == {tuple(one.passage.paragraph_id for one in CONTEXT)}
    assert isinstance(events[-1], GeneratedEnd)
    assert (events[-1].usage.input_tokens, events[-1].usage.output_tokens) == (12, 5)
    assert events[-1].finish_reason == "stop"


def test_sources_are_numbered_data_ahead_of_the_conversation() -> None:
    with OpenAIDouble(stream=completion("x")) as double:
        ask(double, [Turn("system", "Obey"), Turn("assistant", "Hi")], key="secret")
    (request,), (headers,) = double.requests, double.headers
    assert request["path"] == "/v1/chat/completions"
    assert request["model"] == "llama"
    assert headers["authorization"] == "Bearer secret"
    roles = [message["role"] for message in request["messages"]]
    assert roles == ["system", "user", "user", "assistant", "user"]
    assert request["messages"][0]["content"] == ANSWER_FROM_NUMBERED_SOURCES
    assert "[1] A > B\nWater moves." in request["messages"][1]["content"]
    assert "[3] Cells\n" in request["messages"][1]["content"]


def test_a_model_that_reasons_without_an_opening_tag_is_known_by_its_first_answer() -> None:
    async def run(double: OpenAIDouble) -> list[list[GeneratorEvent]]:
        async with open_server(double.url, None) as client:
            generator = model_at(client)
            request = generation_request("Question?", (), CONTEXT)
            return [[one async for one in generator.generate(request)] for _ in range(3)]

    with OpenAIDouble(
        stream=completion("Water moves. Or not?", "</think>", "Water moves.")
    ) as double:
        first, *later = asyncio.run(run(double))
    assert any(isinstance(one, TextDiscarded) for one in first)
    assert [text_of(events) for events in later] == ["Water moves."] * 2


def test_line_separators_inside_a_piece_are_text() -> None:
    """httpx would split lines at U+2028 and U+0085; an event ends with a line feed only."""
    with OpenAIDouble(stream=completion("a\u2028b\u0085c")) as double:
        assert text_of(ask(double)) == "a\u2028b\u0085c"


@pytest.mark.parametrize("size", [1, 7])
def test_events_may_arrive_in_any_cuts(size: int) -> None:
    whole = "".join(completion("Light \U0001f331 is [1].", " End"))
    cuts = [whole[start : start + size] for start in range(0, len(whole), size)]
    with OpenAIDouble(stream=cuts) as double:
        assert text_of(ask(double)) == "Light \U0001f331 is [1]. End"


def test_comments_and_carriage_returns_are_passed_over() -> None:
    stream = [": ping\r\n\r\n", *(part.replace("\n", "\r\n") for part in completion("ok"))]
    with OpenAIDouble(stream=stream) as double:
        assert text_of(ask(double)) == "ok"


def test_silence_is_an_error_after_the_timeout() -> None:
    with (
        OpenAIDouble(stall=True) as double,
        pytest.raises(ProviderUnavailable, match=r"sent nothing for .*RAG_CONTEXT_TOKENS"),
    ):
        ask(double, timeout_seconds=0.1)


@pytest.mark.parametrize(
    ("url", "key", "error"),
    [
        ("http://127.0.0.1:9/v1", None, ProviderUnavailable),
        ("ftp://example.org", None, ConfigError),
        ("http://127.0.0.1:9/v1", "ke\ny", ConfigError),
    ],
)
def test_an_address_or_key_that_cannot_be_is_one_clear_error(
    url: str, key: str | None, error: type[Exception]
) -> None:
    async def run() -> None:
        async with open_server(url, key) as client:
            async for _ in model_at(client).generate(generation_request("q", (), CONTEXT)):
                pass

    with pytest.raises(error):
        asyncio.run(run())


def rewrite(double: OpenAIDouble, timeout_seconds: float = 10.0) -> str:
    async def run() -> str:
        async with open_server(double.url, None) as client:
            history = [Turn("user", "What is chlorophyll?"), Turn("assistant", "A pigment.")]
            generator = model_at(client, timeout_seconds)
            return await generator.rewrite("Where is it?", history)

    return asyncio.run(run())


def test_a_follow_up_is_rewritten_to_stand_alone() -> None:
    with OpenAIDouble(stream=completion(" Where is", " chlorophyll\n?")) as double:
        assert rewrite(double) == "Where is chlorophyll ?"
    system, user = double.requests[0]["messages"]
    assert system == {"role": "system", "content": REWRITE_QUESTION}
    assert user["content"].endswith("Last question: Where is it?")


def check(url: str, model: str) -> None:
    async def run() -> None:
        async with open_server(url, None) as client:
            await replace(model_at(client), model=model).check()

    asyncio.run(run())


def test_a_server_that_is_there_passes_the_check(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIDouble() as double:
        check(double.url, "llama")
        assert caplog.records == []
        check(double.url, "llama4")
    (record,) = caplog.records
    assert (record.message, record.__dict__["models"]) == ("openai.model_not_listed", "llama")


def test_the_check_names_the_setting_of_a_server_that_is_not_there() -> None:
    with pytest.raises(ProviderUnavailable, match="RAG_OPENAI_BASE_URL"):
        check("http://127.0.0.1:9/v1", "llama")
    with OpenAIDouble(status=401) as double, pytest.raises(ProviderAuthError):
        check(double.url, "llama")


def test_short_prompt_puts_the_question_last() -> None:
    async def run(url: str) -> None:
        async with open_server(url, None) as client:
            generator = replace(model_at(client), short_prompt=True)
            async for _ in generator.generate(generation_request("Why?", (), CONTEXT)):
                pass

    with OpenAIDouble(stream=completion("x")) as double:
        asyncio.run(run(double.url))
    system, user = double.requests[0]["messages"]
    assert system["content"] == SHORT_ANSWER_FROM_NUMBERED_SOURCES
    assert user["content"].startswith("[1] A > B\n")
    assert user["content"].endswith("Question: Why?\nAnswer:")


class TimedServer:
    """Takes `seconds_per_token` by its own clock to read the prompt that is not cached."""

    def __init__(self, seconds_per_token: float) -> None:
        self.seconds_per_token = seconds_per_token
        self.cached = 0.0
        self.time = 1_000.0

    def now(self) -> float:
        return self.time

    def answer(self, body: dict[str, Any]) -> list[str]:
        letters = sum(len(message["content"]) for message in body["messages"])
        tokens = letters // CHARACTERS_PER_TOKEN
        read = round(tokens * (1 - self.cached))
        self.time += read * self.seconds_per_token
        details = {"cached_tokens": tokens - read}
        usage = {"prompt_tokens": tokens, "prompt_tokens_details": details}
        whole = [event("Plants store it [1]."), event(finish_reason="stop")]
        return [*whole, f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n", DONE]


LONG = tuple(
    replace(passage(f"p-{at}", f"{at:04}" + "word " * 159 + "."), score=1 / (at + 1), tokens=200)
    for at in range(15)
)


def contexts_sent(double: OpenAIDouble) -> list[list[int]]:
    """The passages, by their numbers in `LONG`, of each request."""
    return [
        [int(number) for number in re.findall(r"(\d{4})word", str(request["messages"]))]
        for request in double.requests
    ]


def ask_in_turn(
    double: OpenAIDouble, server: TimedServer, speed: PromptSpeed, times: int, seconds: float = 10.0
) -> list[GeneratorEvent]:
    async def run() -> list[GeneratorEvent]:
        async with open_server(double.url, None) as client:
            generator = replace(
                model_at(client, seconds), short_prompt=True, speed=speed, clock=server.now
            )
            request = generation_request("Question?", (), LONG)
            events: list[GeneratorEvent] = []
            for _ in range(times):
                events = [one async for one in generator.generate(request)]
            return events

    return asyncio.run(run())


def test_context_follows_the_speed_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    server, speed = TimedServer(seconds_per_token=1 / 25), PromptSpeed()
    with OpenAIDouble(answering=server.answer) as double:
        ask_in_turn(double, server, speed, 4)
        server.seconds_per_token = 1 / 1_000
        ask_in_turn(double, server, speed, 6)
    first, second, _, fourth, *_, last = map(len, contexts_sent(double))
    assert first == 6  # 20 s * 75 tokens a second, less the rest of the prompt
    assert second == 3  # 20 s * 37 tokens a second: the mean of the assumed and the measured one
    assert fourth == 2  # 20 s * 27 tokens a second, but no less than 400 tokens
    assert last == len(LONG)
    (record,) = caplog.records
    assert record.message == "openai.slow_server"
    assert record.__dict__["setting"] == "RAG_CONTEXT_TOKENS"


def test_best_paragraphs_are_kept_in_their_order_and_cited_by_their_new_numbers() -> None:
    server, speed = TimedServer(1.0), PromptSpeed()
    context = LONG[::-1]
    with OpenAIDouble(answering=server.answer) as double:

        async def run() -> list[GeneratorEvent]:
            async with open_server(double.url, None) as client:
                generator = replace(model_at(client), speed=speed, clock=server.now)
                request = generation_request("Question?", (), context)
                _ = [one async for one in generator.generate(request)]
                return [one async for one in generator.generate(request)]

        events = asyncio.run(run())
    assert contexts_sent(double)[-1] == [1, 0]
    numbered = {one.numbered for one in events if isinstance(one, GeneratedText)}
    assert numbered == {("p-1", "p-0")}


def test_cached_part_of_a_prompt_does_not_count_as_read() -> None:
    speeds = []
    for cached in (0.0, 0.5):
        server, speed = TimedServer(1 / 25), PromptSpeed()
        server.cached = cached
        with OpenAIDouble(answering=server.answer) as double:
            ask_in_turn(double, server, speed, 1)
        speeds.append(speed.prompt_tokens)
    assert speeds[0] == pytest.approx(speeds[1], rel=0.02)


def test_prompt_after_a_timeout_is_shorter() -> None:
    speed = PromptSpeed()
    for _ in range(20):
        speed.measured(1_000, 0.01)
    before = speed.prompt_tokens
    with OpenAIDouble(stall=True) as double, pytest.raises(ProviderUnavailable):
        ask_in_turn(double, TimedServer(1.0), speed, 1, seconds=0.2)
    assert speed.prompt_tokens < before


def test_server_that_is_not_there_is_not_a_slow_one() -> None:
    speed = PromptSpeed()
    double = OpenAIDouble()
    with double:
        pass
    with pytest.raises(ProviderUnavailable):
        ask_in_turn(double, TimedServer(1.0), speed, 1)
    assert speed.prompt_tokens == PromptSpeed().prompt_tokens
