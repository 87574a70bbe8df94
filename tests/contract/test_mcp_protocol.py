"""The Model Context Protocol, through the protocol's own client."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from fastapi import Request
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

import app.domain.errors as errors
from app.api.protocols.mcp import ToolServer
from tests.command_line import Run
from tests.owl_server import ORIGIN, QUESTION, UNSURE, added, assert_problem
from tests.served_process import offline_environment
from tests.serving import ScriptedGenerator, offline_settings, serving

T = TypeVar("T")
PATH = "/v1/mcp"
TOOLS = {"search_book", "ask_book", "read_paragraph", "list_chapters"}


def with_client(server: Any, work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def run() -> T:
        async with Client(server, mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


def called(server: Any, name: str, *, mode: str = "auto", **arguments: Any) -> CallToolResult:
    return with_client(server, lambda client: client.call_tool(name, arguments), mode)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def failure(server: Any, name: str, **arguments: Any) -> str:
    result = called(server, name, **arguments)
    assert result.is_error
    return text_of(result)


def told(server: Any, name: str, *, mode: str = "auto", **arguments: Any) -> dict[str, Any]:
    result = called(server, name, mode=mode, **arguments)
    assert not result.is_error, text_of(result)
    found: dict[str, Any] = result.structured_content
    return found


@pytest.fixture
def endpoint(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/") + PATH


@pytest.fixture
def process(owl_home: Path) -> StdioServerParameters:
    """The command `mcp`, spoken to on its stdin and stdout."""
    command = ["-m", "app.cli", "mcp"]
    environment = offline_environment(owl_home)
    return StdioServerParameters(command=sys.executable, args=command, env=environment)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_are_described(endpoint: str, mode: str) -> None:
    listed = with_client(endpoint, lambda client: client.list_tools(), mode)
    assert {one.name for one in listed.tools} == TOOLS
    for one in listed.tools:
        assert one.description
        assert one.annotations is not None
        assert one.annotations.read_only_hint
        assert one.output_schema is not None


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_question_is_answered_as_anywhere(endpoint: str, client: httpx.Client, mode: str) -> None:
    found = told(endpoint, "ask_book", mode=mode, question=QUESTION, book="owls")
    native = client.post("/v1/chat", json={"question": QUESTION}).json()["citations"]
    for one, citation in zip(found["citations"], native, strict=True):
        assert one.items() <= citation.items()
    links = re.findall(r"\[\d+\]\(([^()\s]*)\)", found["answer"])
    assert links == [one["url"] for one in native] != []
    assert found["confidence"] == "answered"


def test_what_search_finds_can_be_read_and_asked_for(endpoint: str) -> None:
    passages = told(endpoint, "search_book", question="silent flight", count=2)["passages"]
    (paragraph,) = [
        told(endpoint, "read_paragraph", paragraph_id=name)
        for name in passages[0]["paragraph_ids"]
        if "soft fringe" in told(endpoint, "read_paragraph", paragraph_id=name)["text"]
    ]
    assert paragraph["text"].startswith("The feathers of an owl end in a soft fringe")
    assert paragraph["heading_path"] == ["Owls", "Silent flight"]
    assert paragraph["url"].startswith(ORIGIN)


def test_the_chapters_have_their_pages(endpoint: str) -> None:
    found = told(endpoint, "list_chapters")
    (page,) = [page for chapter in found["chapters"] for page in chapter["pages"]]
    assert (found["book"], page["title"]) == ("owls", "Owls")
    assert page["url"].startswith(ORIGIN)


def test_the_command_answers_on_stdin_and_stdout(
    process: StdioServerParameters, endpoint: str
) -> None:
    async def work(client: Client) -> list[dict[str, Any] | None]:
        calls = [
            ("ask_book", {"question": QUESTION}),
            ("search_book", {"question": QUESTION}),
            ("list_chapters", {}),
        ]
        return [(await client.call_tool(*one)).structured_content for one in calls]

    assert with_client(stdio_client(process), work) == with_client(endpoint, work)


WRONG = [
    ("ask_book", {}, "question: Field required"),
    ("ask_book", {"question": "x", "bok": "owls"}, "bok: Extra inputs are not permitted"),
    ("ask_book", {"question": " "}, "at least one word (invalid_question)"),
    ("ask_book", {"question": "x", "book": "bats"}, "(book_not_found)"),
    ("search_book", {"question": "x " * 2_500}, "characters are allowed (invalid_question)"),
    ("search_book", {"question": "x", "count": 21}, "count: "),
    ("read_paragraph", {"paragraph_id": "p-none"}, "has a paragraph 'p-none'"),
    ("list_chapters", {"book": "../owls"}, "book: "),
    ("drop_book", {"book": "owls"}, "Unknown tool: drop_book"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), WRONG)
def test_a_wrong_call_is_a_result_that_says_so(
    endpoint: str, name: str, arguments: dict[str, object], message: str
) -> None:
    assert message in failure(endpoint, name, **arguments)


def test_a_failure_tells_nothing_of_the_server(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play(errors.ProviderUnavailable("cohere at 10.0.0.7"))
    endpoint = str(generating.base_url).rstrip("/") + PATH
    told_of = failure(endpoint, "ask_book", question=UNSURE)
    assert "(provider_unavailable)" in told_of
    assert "10.0.0.7" not in told_of


def test_a_failure_without_http_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = ToolServer(Request({"type": "http", "app": object()}))
    with caplog.at_level("WARNING"):
        assert failure(server, "list_chapters").endswith(" (internal)")
    events = {record.message: record for record in caplog.records if record.name.startswith("app.")}
    assert events["http.unexpected_error"].exc_info


def keyed(endpoint: str, key: str, origin: str = "") -> Any:
    headers = {"Authorization": f"Bearer {key}", **({"Origin": origin} if origin else {})}
    return streamable_http_client(endpoint, http_client=AsyncClient(headers=headers))


def test_a_key_asks_its_own_books_only(run: Run, two_books: Path) -> None:
    with serving(offline_settings(two_books)) as address:
        endpoint = address + PATH
        assert "name one of bats, owls" in failure(endpoint, "list_chapters")
        owls = added(run, "--secret", "--book", "owls")
        assert told(keyed(endpoint, owls), "list_chapters")["book"] == "owls"
        assert told(keyed(endpoint, owls), "ask_book", question=QUESTION)["citations"]
        found = told(keyed(endpoint, owls), "search_book", question="bat", count=20)["passages"]
        assert {one["book"] for one in found} == {"owls"}
        (of_bats, *_) = told(
            keyed(endpoint, added(run, "--secret")), "search_book", question="bat", book="bats"
        )["passages"]
        for name, arguments in (
            ("ask_book", {"question": QUESTION, "book": "bats"}),
            ("list_chapters", {"book": "bats"}),
            ("read_paragraph", {"paragraph_id": of_bats["paragraph_ids"][-1], "book": "bats"}),
        ):
            assert "(book_not_allowed)" in failure(keyed(endpoint, owls), name, **arguments)
        unasked = httpx.post(endpoint, json={})
        assert_problem(unasked, 401, "key_required")


CALL = {"name": "ask_book", "arguments": {"question": QUESTION}}
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_a_call_ends_when_its_client_leaves(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The flight makes ", hangs=True)
    with pytest.raises(httpx.ReadTimeout):
        generating.post(PATH, json=MESSAGE, headers=ACCEPT, timeout=2)
    assert generator.hanging.is_set()
    assert generator.cancelled.wait(10)


def test_a_call_ends_when_the_server_stops(owl_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.api.server.SHUTDOWN_SECONDS", 1)
    generator = ScriptedGenerator()
    generator.play("The flight makes ", hangs=True)
    with ThreadPoolExecutor(1) as pool:
        with serving(offline_settings(owl_home), generator.open) as address:
            answer = pool.submit(
                httpx.post, address + PATH, json=MESSAGE, headers=ACCEPT, timeout=30
            )
            assert generator.hanging.wait(20)
        assert_problem(answer.result(), 503, "shutting_down")
