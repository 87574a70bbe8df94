"""No text of a reader or a book controls a terminal or reverses text where people look at it."""

import json
import logging
from pathlib import Path

import httpx
import pytest

from app.bootstrap.logs import LineFormatter
from app.domain.characters import printable
from tests.command_line import Run, write_files
from tests.owl_server import QUESTION
from tests.serving import connected, offline_settings

HOSTILE = [chr(7), chr(27), chr(0x7F), chr(0x9B), chr(0x202E), chr(0x2066)]
TITLE = "Owls" + "".join(HOSTILE) + "!"
TEXT = f"""\
# {TITLE}

## Silent flight {"".join(HOSTILE)}

The feathers of an owl{chr(27)}[2J end in a soft{chr(0x202E)} fringe, so the flight makes no sound.
"""


def assert_clean(text: str) -> None:
    assert text
    assert [char for char in HOSTILE if char in text] == []


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Zeile\r\n\tتقویم\u200f שלום\u200d 🦉\N{NO-BREAK SPACE}\n"
    assert printable(text) == text


@pytest.fixture
def book(run: Run, home: Path) -> Path:
    folder = write_files(home / "owls", {"owls.md": TEXT})
    assert run("ingest", folder, "--site", "plain", "--base-url", "https://owls.example").code == 0
    return home / "state"


COMMANDS = [
    ("ask", QUESTION),
    ("ask", QUESTION, "--json"),
    ("ask", f"\x1b[2J{QUESTION}\u202e"),
    ("search", "feathers"),
    ("search", "feathers", "--json"),
    ("books",),
    ("books", "--json"),
    ("links", "owls"),
    ("chunks", "owls"),
]


@pytest.mark.usefixtures("book")
def test_commands_print_no_character_that_controls_a_terminal(run: Run) -> None:
    for command in COMMANDS:
        found = run(*command)
        assert found.code == 0
        assert_clean(found.out)
        assert_clean(found.err + " ")
    assert_clean(run("links", "ow\x1b[2Jls").refusal())


def assert_clean_json(response: httpx.Response) -> None:
    text = response.raise_for_status().text.lower()
    assert [char for char in HOSTILE if json.dumps(char)[1:-1] in text] == []
    assert_clean(text)


def test_answers_of_the_api_are_clean_and_their_positions_valid(book: Path) -> None:
    asked = {"question": QUESTION}
    message = {"id": "1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
    completion = {"model": "owls", "messages": [{"role": "user", "content": QUESTION}]}
    with connected(offline_settings(book)) as client:
        for path, body in (
            ("/v1/chat", asked | {"stream": True}),
            ("/v1/search", asked),
            ("/v1/ai-sdk", {"messages": [message]}),
            ("/v1/chat/completions", completion),
            ("/v1/chat/completions", completion | {"stream": True}),
        ):
            assert_clean_json(client.post(path, json=body))
        for path in ("books", "suggestions?page=/owls", "books/owls/pages/owls.md"):
            assert_clean_json(client.get(f"/v1/{path}"))
        assert_clean(client.get("/").text)
        answered = client.post("/v1/chat", json=asked)
    assert_clean_json(answered)
    answer = answered.json()
    (citation, *_) = answer["citations"]
    claim = answer["answer"][citation["start"] : citation["end"]]
    assert claim.startswith("The feathers")
    assert claim.endswith("no sound.")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_line_of_the_log_has_no_hostile_character(*, as_json: bool) -> None:
    fields = {"name": "app", "msg": "asked %s", "question": TITLE, "args": (TITLE,)}
    line = LineFormatter(as_json=as_json).format(logging.makeLogRecord(fields))
    assert "Owls" in line
    assert_clean(line)
