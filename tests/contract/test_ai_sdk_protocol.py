"""The protocol of Vercel's AI SDK: the parts sent, and what the package `ai` makes of them."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

import app.domain.errors as errors
from tests.command_line import Run
from tests.conftest import ROOT
from tests.owl_server import QUESTION, UNSURE, added, assert_problem
from tests.serving import ScriptedGenerator, offline_settings, serving

PATH = "/v1/ai-sdk"
FOLDER = Path(os.environ.get("AI_SDK_FOLDER", ROOT / "tests/ai_sdk"))


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"id": "m", "role": role, "parts": [{"type": "text", "text": text}]}


def ask(client: httpx.Client, *messages: dict[str, Any], **fields: Any) -> httpx.Response:
    sent = list(messages) or [message(QUESTION)]
    body = {"id": "chat", "trigger": "submit-message", "messages": sent, **fields}
    return client.post(PATH, json=body)


def parts_of(response: httpx.Response) -> list[dict[str, Any]]:
    *events, last = response.text.strip().split("\n\n")
    assert last == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def test_the_parts_are_the_native_answer(client: httpx.Client) -> None:
    response = ask(client, book="owls")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    parts = parts_of(response)
    native = client.post("/v1/chat", json={"question": QUESTION}).json()
    assert [one["type"] for one in parts[:3]] == ["start", "start-step", "text-start"]
    assert [one["type"] for one in parts[-2:]] == ["finish-step", "finish"]
    assert "".join(one.get("delta", "") for one in parts) == native["answer"]
    by_type = {one["type"]: one for one in parts}
    cited = [one["data"] for one in parts if one["type"] == "data-citation"]
    for one, citation in zip(cited, native["citations"], strict=True):
        assert one.items() <= citation.items()
    assert by_type["source-url"]["url"] == cited[-1]["url"]
    assert by_type["data-answer"]["data"].items() <= native.items()
    assert by_type["data-passages"]["transient"]
    assert by_type["data-passages"]["data"]["passages"] == native["passages"]


def test_the_conversation_reaches_the_generator(
    generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    generator.play("The feathers of an owl end in a soft fringe.")
    told = message("They do.", "assistant")
    told["parts"] += [{"type": "step-start"}, {"type": "data-answer", "data": {"x": "y" * 70_000}}]
    ask(generating, message("Do owls fly?"), told, message("Why is their flight silent?"))
    (history,) = (one.history for one in generator.requests)
    assert [(one.role, one.content) for one in history] == [
        ("user", "Do owls fly?"),
        ("assistant", "They do."),
    ]


def test_a_failure_is_a_problem_or_the_last_part(
    client: httpx.Client, generating: httpx.Client, generator: ScriptedGenerator
) -> None:
    assert_problem(ask(client, book="bats"), 404, "book_not_found")
    assert_problem(ask(client, message("So.", "assistant")), 422, "invalid_question")
    assert_problem(ask(client, scope="page"), 422, "invalid_request")
    generator.play(errors.ProviderUnavailable("cohere at 10.0.0.7"))
    response = ask(generating, message(UNSURE))
    assert parts_of(response)[-1]["type"] == "error"
    assert "10.0.0.7" not in response.text


def by_the_package(address: str, question: str, book: str, key: str = "") -> dict[str, Any]:
    """The message that a page shows after this question, asked twice in one conversation."""
    node = shutil.which("node")
    if node is None or not (FOLDER / "node_modules/ai").is_dir():
        pytest.skip("needs Node, and `npm install` in tests/ai_sdk")
    command = [node, "ask.mjs", address + PATH, question, book, key]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_package_shows_the_answer_and_its_sources(client: httpx.Client) -> None:
    shown = by_the_package(str(client.base_url).rstrip("/"), QUESTION, "owls")
    assert shown["status"] == "ready", shown
    native = client.post("/v1/chat", json={"question": QUESTION}).json()
    assert [one["role"] for one in shown["messages"]] == ["user", "assistant"] * 2
    parts = shown["messages"][1]["parts"]
    assert "".join(one["text"] for one in parts if one["type"] == "text") == native["answer"]
    sources = [one for one in parts if one["type"] == "source-url"]
    assert [one["url"] for one in sources] == [one["url"] for one in native["citations"]]
    kept = {one["type"] for one in parts}
    assert kept == {"step-start", "text", "source-url", "data-citation", "data-answer"}


def test_the_package_sends_its_key(run: Run, two_books: Path) -> None:
    key = added(run, "--secret", "--book", "owls")
    with serving(offline_settings(two_books)) as address:
        assert by_the_package(address, QUESTION, "owls", key)["status"] == "ready"
        refused = by_the_package(address, QUESTION, "bats", key)
        assert "book_not_allowed" in refused["error"]["message"]
