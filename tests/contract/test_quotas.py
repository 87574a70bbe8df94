"""Limits for each key and each book, and for an address a day."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.limits import CHARGES, daily
from app.api.quotas import quotas
from app.domain.errors import TooManyRequests
from tests.command_line import Run
from tests.owl_server import QUESTION, assert_problem
from tests.serving import ScriptedGenerator, offline_settings, serving

CHAT = CHARGES["/v1/chat"]


@contextmanager
def served(
    owl_home: Path, home: Path, generator: ScriptedGenerator | None = None, **limits: object
) -> Iterator[httpx.Client]:
    state = Path(shutil.copytree(owl_home, home / "state", dirs_exist_ok=True))
    settings = offline_settings(state, **limits)
    opened = {"open_application": generator.open} if generator else {}
    with (
        serving(settings, **opened) as address,
        httpx.Client(base_url=address, timeout=30) as client,
    ):
        yield client


def ask(
    client: httpx.Client, headers: dict[str, str] | None = None, **fields: str
) -> httpx.Response:
    return client.post("/v1/chat", json={"question": QUESTION, **fields}, headers=headers)


def bearer(run: Run) -> dict[str, str]:
    key = run("keys", "add", "--secret", "--json").json()["key"]
    return {"Authorization": f"Bearer {key}"}


def assert_refused(response: httpx.Response, least_seconds: int) -> str:
    problem = assert_problem(response, 429, "too_many_requests")
    assert int(response.headers["retry-after"]) >= least_seconds
    return str(problem["detail"])


def test_each_key_has_its_own_questions(run: Run, owl_home: Path, home: Path) -> None:
    with served(owl_home, home, key_questions_per_minute=2) as client:
        one, other = bearer(run), bearer(run)
        assert [ask(client, one).status_code for _ in range(2)] == [200, 200]
        assert "key" in assert_refused(ask(client, one), 20)
        search = client.post("/v1/search", json={"question": "owl"}, headers=one)
        assert_refused(search, 10)
        assert ask(client, other).status_code == 200


def test_a_book_has_so_many_questions_a_day(owl_home: Path, home: Path) -> None:
    with served(owl_home, home, book_questions_per_day=2) as client:
        assert ask(client, book="owls").status_code == 200
        assert ask(client).status_code == 200
        for response in (ask(client), ask(client, book="owls")):
            assert "book" in assert_refused(response, 24 * 3_600 // 2 - 60)


def test_an_address_has_so_many_questions_a_day(owl_home: Path, home: Path) -> None:
    with served(owl_home, home, questions_per_day=1) as client:
        assert ask(client).status_code == 200
        assert_refused(ask(client), 24 * 3_600 - 60)
        assert client.get("/v1/books").status_code == 200


@pytest.mark.parametrize("holder", ["key", "book"])
def test_streams_at_once_are_bounded(run: Run, owl_home: Path, home: Path, holder: str) -> None:
    generator = ScriptedGenerator()
    generator.play("The flight of an owl is silent. ", hangs=True)
    with served(owl_home, home, generator, **{f"{holder}_answers_at_once": 1}) as client:
        headers = bearer(run)
        body = {"question": QUESTION, "stream": True}
        with client.stream("POST", "/v1/chat", json=body, headers=headers):
            assert generator.hanging.wait(30)
            assert holder in assert_refused(ask(client, headers), 1)
            cancelled = generator.cancelled
        assert cancelled.wait(30)
        generator.play("The flight makes no sound.")
        # The server leaves the answer a moment after its generator.
        codes = (ask(client, headers).status_code for _ in range(100))
        assert next(code for code in codes if code != 429) == 200


def test_readers_behind_one_trusted_proxy_have_buckets_of_their_own(
    owl_home: Path, home: Path
) -> None:
    limits: dict[str, Any] = {"questions_per_minute": 1, "questions_burst": 1}
    with served(owl_home, home, open=True, trusted_proxies="127.0.0.1", **limits) as client:
        codes = [
            ask(client, {"X-Forwarded-For": reader}).status_code
            for reader in ("1.1.1.1", "2.2.2.2", "1.1.1.1", "3.3.3.3")
        ]
    assert codes == [200, 200, 429, 200]


def test_what_is_used_of_a_day_comes_back_evenly() -> None:
    now = [0.0]
    limit = daily(24, clock=lambda: now[0])
    assert [limit.admit("a", CHAT) for _ in range(25)] == pytest.approx([0] * 24 + [3_600])
    now[0] = 3_601
    assert [limit.admit("a", CHAT) for _ in range(2)] == pytest.approx([0, 3_599])


def test_one_of_several_books_without_questions_costs_the_others_nothing(home: Path) -> None:
    books = quotas(offline_settings(home, book_questions_per_minute=2)).books
    books.take(["a", "b"], CHAT)
    books.take(["a"], CHAT)
    with pytest.raises(TooManyRequests, match="book"):
        books.take(["a", "b"], CHAT)
    books.take(["b"], CHAT)


def test_answers_that_ended_are_not_counted(home: Path) -> None:
    keys = quotas(offline_settings(home, key_answers_at_once=2)).keys
    with keys.answering(["a"]), keys.answering(["a"]), keys.answering(["b"]):
        with pytest.raises(TooManyRequests), keys.answering(["a"]):
            raise AssertionError
        with keys.answering(["b"]):
            pass
    with keys.answering(["a"]):
        assert keys._held == {"a": 1}
    assert not keys._held
