"""Each request of `attacks/requests.jsonl`, sent to a served process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.served_process import Served, served_process

TABLE = ROOT / "tests/attacks/requests.jsonl"
ATTACKS = [json.loads(line) for line in TABLE.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def served(owl_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = Path(shutil.copytree(owl_home, tmp_path_factory.mktemp("attacked") / "rag"))
    with served_process(home, RAG_QUESTIONS_PER_MINUTE="0") as server:
        yield server


def test_no_two_attacks_have_one_name() -> None:
    assert len({attack["name"] for attack in ATTACKS}) == len(ATTACKS) >= 60


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
    is_problem = response.headers["content-type"] == "application/problem+json"
    if is_problem and body:
        problem = json.loads(body)
        assert (problem["status"], problem["request_id"] != "") == (response.status, True)
        assert problem["code"] == attack.get("code", problem["code"])
    else:
        assert "code" not in attack, body
    if "absent" in attack:
        assert attack["absent"].lower() not in f"{response.headers}\n{body.decode()}".lower()
    again = served.http()
    again.request("GET", "/healthz")
    assert again.getresponse().status == 200
    again.close()


def _bytes(attack: dict[str, Any]) -> bytes:
    """Return what goes over the wire."""
    if "raw" in attack:
        return _filled(attack["raw"], attack).encode("latin-1")
    body = _filled(attack.get("body", ""), attack).encode()
    headers = {"Host": "127.0.0.1", "Connection": "close"} | attack.get("headers", {})
    if body:
        headers |= {"Content-Length": str(len(body))}
    head = [f"{attack['method']} {attack['path']} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    return _filled("\r\n".join([*head, "", ""]), attack).encode() + body


def _filled(text: str, attack: dict[str, Any]) -> str:
    for mark, (piece, times) in attack.get("repeat", {}).items():
        text = text.replace(mark, piece * times)
    return text
