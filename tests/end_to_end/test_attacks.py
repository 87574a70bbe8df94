"""Each request of `attacks/requests.jsonl`, sent to a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.attacking import filled, table
from tests.served_process import Served, served_process

pytestmark = pytest.mark.attack

ATTACKS = table("requests")
NO_HTTP = b"Invalid HTTP request received."
"""What uvicorn says to a request that is none."""


@pytest.fixture(scope="module")
def served(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = Path(shutil.copytree(owl_home, tmp_path_factory.mktemp("attacked") / "rag"))
    with served_process(home, RAG_QUESTIONS_PER_MINUTE="0") as server:
        yield server


def test_the_table_has_attacks_enough() -> None:
    assert len(ATTACKS) >= 60


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["name"])
def test_an_attack_gets_its_answer_and_the_server_goes_on(
    served: Served, attack: dict[str, Any]
) -> None:
    with served.connect() as connection:
        connection.sendall(_bytes(attack))
        response = HTTPResponse(connection, method=attack.get("method"))
        response.begin()
        body = response.read()
        assert connection.recv(1) == b"", "one request has one response"
    wanted = attack["status"] if isinstance(attack["status"], list) else [attack["status"]]
    assert response.status in wanted, body
    assert response.status < 500 or response.status == 501
    kind = response.headers["content-type"]
    if body == NO_HTTP:
        assert "code" not in attack, body
    elif response.status >= 400 and body and not (response.status == 404 and "text/html" in kind):
        assert kind == "application/problem+json"
        problem = json.loads(body)
        assert (problem["status"], problem["request_id"] != "") == (response.status, True)
        assert problem["code"] == attack.get("code", problem["code"])
    else:
        assert "code" not in attack, body
    if "absent" in attack:
        assert attack["absent"].lower() not in f"{response.headers}\n{body.decode()}".lower()
    _assert_alive(served)


def _assert_alive(served: Served) -> None:
    again = served.http()
    again.request("GET", "/healthz")
    assert again.getresponse().status == 200
    again.close()


def _bytes(attack: dict[str, Any]) -> bytes:
    """Return what goes over the wire."""
    repeat = attack.get("repeat", {})
    if "raw" in attack:
        return filled(attack["raw"], repeat).encode("latin-1")
    body = filled(attack.get("body", ""), repeat).encode()
    headers = {"Host": "127.0.0.1", "Connection": "close"} | attack.get("headers", {})
    if body:
        headers |= {"Content-Length": str(len(body))}
    head = [f"{attack['method']} {attack['path']} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    return filled("\r\n".join([*head, "", ""]), repeat).encode() + body
