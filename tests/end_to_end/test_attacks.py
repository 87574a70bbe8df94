"""Each request of `attacks/requests.jsonl`, as it is and changed at random, sent to a server."""

from __future__ import annotations

import json
import random
import re
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.attacking import filled, table, tried
from tests.served_process import Served, served_process

pytestmark = pytest.mark.attack("requests")

ATTACKS = table("requests")
CHANGES = 12
"""Of each request, in the long run."""
PATIENCE = 1.0
"""Seconds for a changed request's response, if it is a whole request at all."""
END = 15.0
"""Seconds for the connection to end once the client has said all: its head's 10, and some more."""
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


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["name"])
def test_a_request_changed_at_random_is_answered_or_waited_for(
    served: Served, attack: dict[str, Any]
) -> None:
    """A response is whole and no outage, and nothing is logged that the server did not expect."""
    chance = random.Random(attack["name"])
    requests = [_changed(_bytes(attack), chance) for _ in range(CHANGES)]
    before = served.log.stat().st_size
    with ThreadPoolExecutor(CHANGES) as pool:
        received = list(pool.map(lambda request: _exchanged(served, request), requests))
    for request, responses in zip(requests, received, strict=True):
        tried()
        for response in re.split(rb"(?=HTTP/1\.1 \d{3} [A-Z])", responses)[1:]:
            head, _, body = response.partition(b"\r\n\r\n")
            status = int(head.split(b" ", 2)[1])
            assert status < 500 or status in {501, 503}, request
            page = status == 404 and b"content-type: text/html" in head.lower()
            if status >= 400 and body and NO_HTTP not in body and not page:
                assert b"application/problem+json" in head, request
                assert json.loads(body)["request_id"], request
    assert b"Traceback" not in served.log.read_bytes()[before:]
    _assert_alive(served)


def _exchanged(served: Served, request: bytes) -> bytes:
    """Return what the server sends, until it closes or, the rest of a request missing, waits."""
    received = b""
    with served.connect() as connection, suppress(ConnectionError):
        connection.sendall(request)
        for patience in (PATIENCE, END):
            connection.settimeout(patience)
            with suppress(TimeoutError):
                while data := connection.recv(65_536):
                    received += data
                return received
            connection.shutdown(socket.SHUT_WR)
    return received


def _changed(request: bytes, chance: random.Random) -> bytes:
    """Return the request with one to three changes."""
    for _ in range(chance.randint(1, 3)):
        at, until = sorted(chance.randrange(len(request) + 1) for _ in range(2))
        flipped = bytes(one ^ 1 << chance.randrange(8) for one in request[at : at + 1])
        length = chance.choice((b"0", b"-1", b"00", b"99", b"70000", b"9" * 30, b""))
        changed = (
            request[:at] + flipped + request[at + 1 :],
            request[:until],
            request[:at] + request[until:],
            request[:until] + request[at:],
            request.replace(b"\r\n", b"\n", chance.randint(1, 3)),
            re.sub(rb"(?i)(content-length:)[^\r]*", rb"\1 " + length, request),
            request + _bytes(chance.choice(ATTACKS)),
        )
        request = chance.choice(changed) or request
    return request


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
