"""A generator for OpenAI-compatible servers, over real HTTP against a local double."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.providers.chat import tokens_about
from app.domain.errors import ProviderUnavailable
from app.domain.generated_text.model_text import GeneratedText, GeneratorEvent
from app.domain.prompts import SHORT_ANSWER_FROM_NUMBERED_SOURCES
from tests.command_line import Run, write_files
from tests.generating import QUESTION, answer, given, openai_at, text_of
from tests.openai_double import DONE, OpenAIDouble, completion, event
from tests.provider_fakes import free_calls


async def ask(double: OpenAIDouble, **options: Any) -> list[GeneratorEvent]:
    async with openai_at(double.url, **options) as model:
        return await answer(model)


async def test_sources_are_numbered_in_a_message_of_their_own() -> None:
    with OpenAIDouble(stream=completion("x")) as double:
        await ask(double, key="secret")
    (request,), (headers,) = double.requests, double.headers
    assert request["path"] == "/v1/chat/completions"
    assert request["model"] == "llama"
    assert headers["authorization"] == "Bearer secret"
    assert "[1] A > B\nWater moves." in request["messages"][1]["content"]
    assert "[3] Cells\n" in request["messages"][1]["content"]


WHOLE = "".join(completion("Light \U0001f331 is [1].", " End"))


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        # httpx would split lines at U+2028 and U+0085; an event ends with a line feed only.
        (completion("a\u2028b\u0085c"), "a\u2028b\u0085c"),
        (list(WHOLE), "Light \U0001f331 is [1]. End"),
        ([WHOLE[at : at + 7] for at in range(0, len(WHOLE), 7)], "Light \U0001f331 is [1]. End"),
        ([": ping\r\n\r\n", *(part.replace("\n", "\r\n") for part in completion("ok"))], "ok"),
    ],
    ids=["line separators", "single characters", "any cuts", "comments"],
)
async def test_a_stream_is_read_however_it_is_cut(stream: list[str], text: str) -> None:
    with OpenAIDouble(stream=stream) as double:
        assert text_of(await ask(double)) == text


async def test_silence_is_an_error_after_the_timeout() -> None:
    said = pytest.raises(ProviderUnavailable, match=r"sent nothing for .*RAG_CONTEXT_TOKENS")
    with OpenAIDouble(stall=True) as double, said:
        await ask(double, seconds=0.1)


async def check(url: str, model: str = "llama") -> None:
    async with openai_at(url, calls=free_calls(model)) as checked:
        await checked.check()


async def test_a_server_that_is_there_passes_the_check(caplog: pytest.LogCaptureFixture) -> None:
    with OpenAIDouble() as double:
        await check(double.url)
        assert caplog.records == []
        await check(double.url, "llama4")
    (record,) = caplog.records
    assert (record.message, record.__dict__["models"]) == ("openai.model_not_listed", "llama")


async def test_short_prompt_puts_the_question_last() -> None:
    with OpenAIDouble(stream=completion("x")) as double:
        await ask(double, short_prompt=True)
    system, user = double.requests[0]["messages"]
    assert system["content"] == SHORT_ANSWER_FROM_NUMBERED_SOURCES
    assert user["content"].startswith("[1] A > B\n")
    assert user["content"].endswith(f"Question: {QUESTION}\nAnswer:")


class TimedServer:
    """Takes `seconds_per_token` by its own clock to read the prompt that is not cached."""

    def __init__(self, seconds_per_token: float) -> None:
        self.seconds_per_token = seconds_per_token
        self.cached = 0.0
        self.time = 1_000.0

    def now(self) -> float:
        return self.time

    def answer(self, body: dict[str, Any]) -> list[str]:
        tokens = sum(tokens_about(message["content"]) for message in body["messages"])
        read = round(tokens * (1 - self.cached))
        self.time += read * self.seconds_per_token
        details = {"cached_tokens": tokens - read}
        usage = {"prompt_tokens": tokens, "prompt_tokens_details": details}
        whole = [event("Plants store it [1]."), event(finish_reason="stop")]
        return [*whole, f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n", DONE]


LONG = tuple(
    replace(given(f"p-{at}", f"{at:04}" + "word " * 159 + "."), score=1 / (at + 1), tokens=200)
    for at in range(15)
)


def contexts_sent(double: OpenAIDouble) -> list[list[int]]:
    """The passages, by their numbers in `LONG`, of each request."""
    return [
        [int(number) for number in re.findall(r"(\d{4})word", str(request["messages"]))]
        for request in double.requests
    ]


async def test_context_follows_the_speed_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    server = TimedServer(seconds_per_token=1 / 25)
    with OpenAIDouble(answering=server.answer) as double:
        async with openai_at(double.url, short_prompt=True) as model:
            model.clock = server.now
            for times, pace in ((4, 1 / 25), (6, 1 / 1_000)):
                server.seconds_per_token = pace
                for _ in range(times):
                    await answer(model, LONG)
    first, second, _, fourth, *_, last = map(len, contexts_sent(double))
    assert first == 6  # 20 s * 75 tokens a second, less the rest of the prompt
    assert second == 3  # 20 s * 37 tokens a second: the mean of the assumed and the measured one
    assert fourth == 2  # 20 s * 27 tokens a second, but no less than 400 tokens
    assert last == len(LONG)
    (record,) = caplog.records
    assert record.message == "openai.slow_server"
    assert record.__dict__["setting"] == "RAG_CONTEXT_TOKENS"


async def test_best_paragraphs_are_kept_in_their_order_and_cited_by_their_new_numbers() -> None:
    server = TimedServer(1.0)
    with OpenAIDouble(answering=server.answer) as double:
        async with openai_at(double.url) as model:
            model.clock = server.now
            await answer(model, LONG[::-1])
            events = await answer(model, LONG[::-1])
    assert contexts_sent(double)[-1] == [1, 0]
    numbered = {one.numbered for one in events if isinstance(one, GeneratedText)}
    assert numbered == {("p-1", "p-0")}


async def test_prompt_after_a_timeout_is_shorter() -> None:
    with OpenAIDouble(stall=True) as double:
        async with openai_at(double.url, seconds=0.2) as model:
            model.speed.seconds_per_token = before = 1e-5
            with pytest.raises(ProviderUnavailable):
                await answer(model, LONG)
    assert model.speed.seconds_per_token > before


URL = os.environ.get("OPENAI_TEST_URL", "")
"""The address with `/v1` of a real server, such as llama.cpp's."""
LAMPS = """# Lamps

An Argand lamp has a round wick. Air rises through the middle of its flame.

A Davy lamp has a mesh of wire around its flame, so that the gas of a mine does not explode.
"""


@pytest.mark.skipif(not URL, reason="OPENAI_TEST_URL names no server")
def test_what_a_small_model_writes_is_cited_or_not_shown(run: Run, tmp_path: Path) -> None:
    """A model too small to cite gives the book's passages instead, and the answer says why."""
    assert run("ingest", write_files(tmp_path / "lamps", {"index.md": LAMPS})).code == 0
    server = {"RAG_GENERATOR": "openai", "RAG_OPENAI_BASE_URL": URL}
    answer = run("ask", "Why does a Davy lamp have a mesh?", "--json", **server).json()
    assert answer["usage"]["input_tokens"] > 0
    assert answer["usage"]["output_tokens"] > 0
    assert answer["citations"]
    assert (answer["mode"] == "generated") is not bool(answer["degraded"])
    assert "mesh of wire" in answer["passages"][0]["text"]
