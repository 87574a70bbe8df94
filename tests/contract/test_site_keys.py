"""Who may use the API: keys, their origins and their books."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.api.keys import require_keys
from app.bootstrap.storage import site_keys
from app.domain.errors import InputError
from app.domain.site_key import checked_origin
from tests.command_line import Run
from tests.owl_server import ORIGIN, OTHER, QUESTION, added, assert_problem, bearer
from tests.serving import connected, offline_settings


@pytest.fixture
def client(two_books: Path) -> Iterator[httpx.Client]:
    with connected(offline_settings(two_books)) as client:
        yield client


@pytest.fixture(scope="module")
def keyless(both_home: Path) -> Iterator[httpx.Client]:
    """A client of a server without keys."""
    with connected(offline_settings(both_home)) as client:
        yield client


def ask(client: httpx.Client, headers: dict[str, str], **fields: str) -> httpx.Response:
    return client.post("/v1/chat", json={"question": QUESTION, **fields}, headers=headers)


FORWARDED = [
    {"X-Forwarded-For": "127.0.0.1"},
    {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
]


@pytest.mark.parametrize("headers", FORWARDED, ids=str)
def test_without_keys_this_machine_asks_and_nobody_through_it(
    keyless: httpx.Client, headers: dict[str, str]
) -> None:
    assert ask(keyless, {}).status_code == 200
    response = ask(keyless, headers)
    assert_problem(response, 401, "key_required")
    assert response.headers["www-authenticate"] == "Bearer"


ROUTES = ["/", "/healthz", "/readyz", "/metrics", "/v1/books", "/cite/p-1"]


@pytest.mark.parametrize("path", ROUTES)
def test_without_keys_only_this_machines_names_and_pages_are_answered(
    keyless: httpx.Client, path: str
) -> None:
    port = keyless.base_url.port
    for host in ("evil.example", f"127.0.0.1.evil.example:{port}", f"evil.example:{port}", ""):
        assert_problem(keyless.get(path, headers={"Host": host}), 400, "host_not_allowed")
    for origin in ("https://evil.example", "http://localhost:1", "null"):
        assert_problem(keyless.get(path, headers={"Origin": origin}), 403, "origin_not_allowed")
    for host in ("localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        response = keyless.get(path, headers={"Host": host, "Origin": f"http://{host}".lower()})
        assert response.status_code not in {400, 403}
    assert keyless.get("/widget.js", headers={"Origin": ORIGIN}).status_code == 200


def test_an_open_server_asks_for_no_key_but_checks_one(two_books: Path) -> None:
    with connected(offline_settings(two_books, open=True)) as client:
        assert ask(client, FORWARDED[0]).status_code == 200
        assert_problem(ask(client, bearer("pk_0")), 401, "key_unknown")


def test_a_publishable_key_is_for_pages_of_its_origins(run: Run, client: httpx.Client) -> None:
    key = added(run, "--origin", ORIGIN + "/", "--origin", "http://127.0.0.1:3000")
    assert_problem(ask(client, {}), 401, "key_required")
    assert_problem(ask(client, bearer(key[:-1])), 401, "key_unknown")
    assert_problem(ask(client, {"Authorization": f"Basic {key}"}), 401, "key_unknown")
    assert ask(client, bearer(key, Origin=ORIGIN)).status_code == 200
    assert ask(client, bearer(key, Origin="http://127.0.0.1:3000")).status_code == 200
    for page in (ORIGIN, f"{ORIGIN}/docs/page?x=1"):
        assert client.get("/v1/books", headers=bearer(key, Referer=page)).status_code == 200
    for origin in ("https://evil.example", f"{ORIGIN}.evil.example", "null", "http://book.example"):
        refused = ask(client, bearer(key, Origin=origin, Referer=f"{ORIGIN}/"))
        assert_problem(refused, 403, "origin_not_allowed")
    assert_problem(ask(client, bearer(key)), 403, "origin_not_allowed")
    for open_path in ("/healthz", "/readyz", "/v1/openapi.json", "/"):
        assert client.get(open_path).status_code == 200
    assert "<script" not in client.get("/").text


def test_pages_of_a_keys_origin_may_send_it(run: Run, client: httpx.Client) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    assert client.options("/v1/chat", headers={"Origin": ORIGIN, **asked}).status_code != 200
    added(run, "--origin", ORIGIN)
    response = client.options("/v1/chat", headers={"Origin": ORIGIN, **asked})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, ORIGIN)


def test_a_secret_key_needs_no_origin_and_no_name_of_this_machine(
    run: Run, client: httpx.Client
) -> None:
    key = added(run, "--secret")
    for headers in (bearer(key), bearer(key, Host="ask.example")):
        assert ask(client, headers).status_code == 200
    assert run("keys", "add", "--secret", "--origin", ORIGIN).code == 2


MESSAGES = [{"role": "user", "content": QUESTION}]
UI_MESSAGES = [{"role": "user", "parts": [{"type": "text", "text": QUESTION}]}]
OF_A_BOOK: dict[str, dict[str, object]] = {
    "/v1/chat": {"question": QUESTION, "book": "{}"},
    "/v1/search": {"question": QUESTION, "book": "{}"},
    "/v1/chat/completions": {"model": "{}", "messages": MESSAGES},
    "/v1/ai-sdk": {"messages": UI_MESSAGES, "book": "{}"},
    "/v1/glossary?page=/{0}&book={0}": {},
    "/v1/books/{}/pages/{}.md": {},
}
"""Path and body, with the book's id."""


def asked_of(client: httpx.Client, path: str, book: str, headers: dict[str, str]) -> httpx.Response:
    body = {name: book if value == "{}" else value for name, value in OF_A_BOOK[path].items()}
    place = path.format(book, book)
    return client.request("POST" if body else "GET", place, json=body or None, headers=headers)


@pytest.mark.parametrize("path", OF_A_BOOK)
def test_a_key_asks_its_book_in_every_protocol(run: Run, client: httpx.Client, path: str) -> None:
    headers = bearer(added(run, "--secret", "--book", "owls"))
    assert asked_of(client, path, "owls", headers).status_code == 200
    refused = asked_of(client, path, "bats", headers)
    assert (refused.status_code, "book_not_allowed" in refused.text) == (403, True)
    for key in ({}, bearer("sk_0")):
        assert asked_of(client, path, "owls", key).status_code == 401
    missing = asked_of(client, path, "mice", bearer(added(run, "--secret", "--book", "mice")))
    assert (missing.status_code, "owls" in missing.text) == (404, False)


def test_without_a_book_a_key_asks_its_own_books(run: Run, client: httpx.Client) -> None:
    headers = bearer(added(run, "--origin", ORIGIN, "--book", "owls"), Origin=ORIGIN)
    hits = client.post("/v1/search", json={"question": "bat", "k": 20}, headers=headers)
    assert {hit["book"] for hit in hits.json()["hits"]} == {"owls"}
    told = ask(client, headers, page_url=f"{OTHER}/bats").json()
    assert {one["book"] for one in told["citations"]} == {"owls"}
    assert all(one["url"].startswith(ORIGIN) for one in told["sources"])
    for path, name, key in (("/v1/books", "books", "book"), ("/v1/models", "data", "id")):
        listed = client.get(path, headers=headers).json()[name]
        assert [one[key] for one in listed] == ["owls"]
    page = {"page": f"{OTHER}/bats"}
    assert_problem(client.get("/v1/glossary", params=page, headers=headers), 404, "page_not_found")


def test_without_keys_their_list_is_an_empty_array_and_a_remark(run: Run) -> None:
    assert run("keys", "list", "--json").out == "[]\n"
    listed = run("keys", "list")
    assert (listed.code, listed.out) == (0, "")
    assert "no keys" in listed.err


def test_a_key_for_a_book_that_is_not_there_is_made_with_a_remark(run: Run) -> None:
    assert "no book 'gone'" in run("keys", "add", "--secret", "--book", "gone").err
    assert len(run("keys", "list").out.splitlines()) == 1


def test_a_revoked_key_is_refused_at_once(run: Run, client: httpx.Client) -> None:
    kept, key = added(run, "--secret"), added(run, "--secret", "--label", "the old one")
    assert ask(client, bearer(key)).status_code == 200
    shown = json.loads(run("keys", "list", "--json").out)
    assert [one["label"] for one in shown] == ["", "the old one"]
    assert run("keys", "revoke", shown[1]["id"]).code == 0
    assert_problem(ask(client, bearer(key)), 401, "key_unknown")
    assert ask(client, bearer(kept)).status_code == 200
    assert run("keys", "revoke", shown[1]["id"]).code == 2


def test_keys_are_random_and_only_their_hashes_are_kept(run: Run, home: Path) -> None:
    keys = [added(run, "--origin", ORIGIN) for _ in range(2)]
    assert len(set(keys)) == 2
    stored = (home / "state/keys.sqlite").read_bytes()
    listed = run("keys", "list").out
    for key in keys:
        assert (key[:3], len(bytes.fromhex(key[3:]))) == ("pk_", 32)
        assert key[3:].encode() not in stored
        assert key not in listed


def damage(home: Path, *names: str) -> None:
    for name in names:
        (home / name).write_bytes(b"no database" * 100)


def test_a_damaged_file_of_keys_lets_nobody_in(client: httpx.Client, two_books: Path) -> None:
    damage(two_books, "keys.sqlite")
    assert_problem(ask(client, {}), 503, "storage_failed")
    assert_problem(ask(client, bearer("sk_0")), 503, "storage_failed")
    page = client.get("/")
    assert (page.status_code, "<script" in page.text) == (200, False)
    assert_problem(client.delete("/v1/admin/books/owls"), 503, "storage_failed")
    assert_problem(client.get("/readyz"), 503, "storage_failed")
    settings = offline_settings(two_books, trusted_proxies="10.0.0.1")
    require_keys(settings, site_keys(settings))  # a server for others starts with it


def test_an_open_server_answers_without_its_keys_and_its_question_log(two_books: Path) -> None:
    damage(two_books, "keys.sqlite", "questions.sqlite")
    settings = offline_settings(two_books, open=True, question_log_days=36_500)
    with connected(settings) as client:
        assert ask(client, {}).json()["confidence"] == "answered"
        assert_problem(ask(client, bearer("pk_0")), 503, "storage_failed")
        ready = client.get("/readyz")
        damaged = {"keys": "damaged", "question log": "damaged"}
        assert (ready.status_code, ready.json()["faults"]) == (200, damaged)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("HTTPS://Book.Example:443/", "https://book.example"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://www.Straße.de:8080", "http://www.xn--strae-oqa.de:8080"),
        ("https://例え.テスト", "https://xn--r8jz45g.xn--zckzah"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        *((origin, "") for origin in ("https://", "ftp://a.example", "https://a/b", "*")),
    ],
)
def test_an_origin_is_as_browsers_send_it_or_refused(written: str, sent: str) -> None:
    if sent:
        assert checked_origin(written) == sent
    else:
        with pytest.raises(InputError, match="not an origin"):
            checked_origin(written)


@pytest.mark.parametrize(
    "environment",
    [{"RAG_HOST": "0.0.0.0"}, {"RAG_TRUSTED_PROXIES": "127.0.0.1"}],
    ids=["another address", "behind a proxy"],
)
def test_a_server_for_others_wants_a_key_or_open(run: Run, environment: dict[str, str]) -> None:
    line = run("serve", **environment).refusal()
    assert "textbook-rag keys add" in line
    assert "RAG_OPEN=true" in line
